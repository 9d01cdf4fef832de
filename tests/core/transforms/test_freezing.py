"""Freezing of parts of a joined model."""

from typing import Any

import pytest

import zoo
from zoo import ConfigError


def join(freeze: str, bridge: str = "linear", decoder: str = "decoder-tiny") -> Any:
    sizes = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16}
    return zoo.join(
        "vit-micro", decoder, bridge, freeze=freeze, encoder_config=sizes, decoder_config={**sizes, "vocab_size": 12}
    )


def trained(model: Any) -> list[str]:
    return [name for name, weights in model.named_parameters() if weights.requires_grad]


def test_a_frozen_encoder_leaves_bridge_and_decoder() -> None:
    model = join("encoder")
    assert not any(name.startswith("stem.model.") for name in trained(model))
    assert {"stem.bridge.linear.weight", "target.embed.weight"} <= set(trained(model))
    assert not model.train().stem.model.training


def test_a_frozen_decoder_leaves_what_is_new_in_it() -> None:
    names = trained(join("decoder"))
    assert [name for name in names if name.startswith("decoder.")]
    assert all(".cross" in name for name in names if name.startswith(("decoder.", "target.", "head.")))


def test_patterns_freeze_what_they_name() -> None:
    names = trained(join("decoder.blocks.0.*, target.*"))
    assert not any(name.startswith(("decoder.blocks.0.", "target.")) for name in names)
    assert any(name.startswith("decoder.blocks.1.") for name in names)


def test_what_means_nothing_or_leaves_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r".enkoder. matches no weights"):
        join("enkoder")
    with pytest.raises(ConfigError, match="leaves nothing to train"):
        join("encoder,decoder", "none", "transformer-tiny")
