from typing import Any

import pytest
from torch import nn

import zoo
from zoo.core.transforms.freezing import head_keys
from zoo.errors import ConfigError
from zoo.training.fine_tuning.parts import blocks_of, depths

TINY: dict[str, Any] = {"dim": 16, "num_heads": 2, "mlp_dim": 16}


def test_depths_rise_from_the_stem_to_the_head() -> None:
    model = zoo.create("vit-micro", depth=3, patch_size=4, image_size=8, **TINY)
    found = depths(model)
    assert found.keys() == dict(model.named_parameters()).keys()
    assert {at for name, at in found.items() if name.startswith("stem.")} == {0}
    for block in range(3):
        assert {at for name, at in found.items() if name.startswith(f"encoder.blocks.{block}.")} == {block + 1}
    assert {at for name, at in found.items() if name.startswith(("head.", "encoder.norm."))} == {4}
    assert len(blocks_of(model)) == 3


def test_the_blocks_of_a_decoder_come_after_those_of_its_encoder() -> None:
    found = depths(zoo.create("transformer-tiny", depth=2, **TINY))
    assert {at for name, at in found.items() if name.startswith("encoder.blocks.")} == {1, 2}
    assert {at for name, at in found.items() if name.startswith("decoder.blocks.")} == {3, 4}
    assert {at for name, at in found.items() if name.startswith("target.")} <= {2}


def test_a_network_of_timm_tells_its_own_order() -> None:
    model = zoo.create("resnet-micro")
    found = depths(model)
    assert found.keys() == dict(model.named_parameters()).keys()
    first, last = found["net.conv1.weight"], found["net.fc.weight"]
    inside = [at for name, at in found.items() if name.startswith("net.layer")]
    assert first <= min(inside)
    assert max(inside) < last
    assert head_keys(model) == ("net.fc.", "head.linear.")


def test_a_model_without_blocks_has_no_depths() -> None:
    with pytest.raises(ConfigError, match="Linear has no blocks"):
        depths(nn.Linear(2, 3))


def test_what_is_new_in_a_joined_model_has_the_rate_of_the_head() -> None:
    found = depths(zoo.join("bert-micro", "decoder-tiny", encoder_config={"depth": 2}, decoder_config={"depth": 2}))
    last = max(found.values())
    new = [at for name, at in found.items() if name.startswith("stem.bridge.") or ".cross." in name]
    assert new
    assert set(new) == {last}
    assert {at for name, at in found.items() if name.startswith("stem.model.encoder.norm.")} <= {2}
