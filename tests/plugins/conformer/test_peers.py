"""The peers of Conformers: the same function, in training as the model is."""

from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo import ConfigError
from zoo.plugins.conformer.peers import ParakeetBlocks, TorchaudioBlocks, peer

pytestmark = pytest.mark.usefixtures("float64", "on_device")

SIZES: dict[str, Any] = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 48}
KINDS: dict[str, tuple[dict[str, Any], type]] = {
    "as named": ({}, ParakeetBlocks),
    "odd": ({"kernel_size": 5}, ParakeetBlocks),
    "no positions": ({"position": "none"}, TorchaudioBlocks),
    "no positions, convolution first": ({"position": "none", "convolution_first": True}, TorchaudioBlocks),
    "no positions, groups": ({"position": "none", "norm": "group", "kernel_size": 4}, TorchaudioBlocks),
}


def conformer(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("conformer-tiny", **{**SIZES, "task": "tag", "num_classes": 3, "dropout": 0.0, **options})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("training", [True, False])
def test_a_peer_without_dropout_is_the_same_function(kind: str, training: bool) -> None:
    options, blocks = KINDS[kind]
    model = conformer(**options).train(training)
    theirs: Any = peer(model)
    assert isinstance(theirs.blocks, blocks)
    assert {part.training for part in theirs.modules()} == {training}
    x = 0.1 * torch.randn(2, 8_000)
    torch.testing.assert_close(theirs(x), model(x))


@pytest.mark.parametrize("options", [{}, {"position": "none"}])
def test_a_peer_answers_for_sounds_of_unequal_lengths(options: dict[str, Any]) -> None:
    model = conformer(**options).eval()
    x, lengths = 0.1 * torch.randn(2, 8_000), torch.tensor([6_000, 3_000])
    y = peer(model)(x, lengths)
    assert y.shape == model(x, lengths).shape == (2, 12, 3)
    assert y.isfinite().all()


def test_a_peer_drops_as_often_as_the_model_and_no_weights() -> None:
    theirs = peer(conformer(position="none", dropout=0.25))
    assert {part.p for part in theirs.modules() if isinstance(part, nn.Dropout) and part.p} == {0.25}
    assert not any(part.dropout for part in theirs.modules() if isinstance(part, nn.MultiheadAttention))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"norm": "layer"}, "norm='layer': other libraries' Conformers norm by batch or by group"),
        ({"position": "rotary"}, "no other library has a Conformer with Rotary and FrameBatchNorm"),
        ({"norm": "group"}, "no other library has a Conformer with TransformerXLPosition and FrameGroupNorm"),
        ({"convolution": "causal"}, "read to both sides alike"),
        ({"convolution_first": True}, "ConvolutionFirstBlock: Parakeet's attention stands in front of its convolution"),
    ],
)
def test_what_no_other_library_has_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        peer(conformer(**options))
