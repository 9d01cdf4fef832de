"""The peers of wav2vec 2.0: the same function, in training as the model is."""

from typing import Any

import pytest
import torch
from torch import nn

from zoo.plugins.speech.models.wav2vec2 import Wav2Vec2
from zoo.plugins.speech.peers import peer

pytestmark = pytest.mark.usefixtures("float64", "on_device")

SIZES: dict[str, Any] = {"dim": 32, "depth": 2, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}
OPTIONS: list[dict[str, Any]] = [
    {"task": "classify", "num_classes": 3},
    {"num_classes": 3, "conv_norm": "layer", "norm": "pre", "normalise": "utterance"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("training", [True, False])
def test_a_peer_without_dropout_is_the_same_function(options: dict[str, Any], training: bool) -> None:
    model = Wav2Vec2(**SIZES, dropout=0.0, **options).train(training)
    x = 0.3 + torch.randn(2, 1_500)
    theirs = peer(model)
    assert {part.training for part in theirs.modules()} == {training}
    torch.testing.assert_close(theirs(x), model(x))


def test_padding_is_left_out_where_it_does_not_leak() -> None:
    model = Wav2Vec2(**SIZES, **OPTIONS[1]).eval()
    x, lengths = torch.randn(2, 1_500), torch.tensor([1_500, 800])
    found, wanted = peer(model)(x, lengths), model(x, lengths)
    for row, n in enumerate(model.stem.count(lengths).tolist()):
        torch.testing.assert_close(found[row, :n], wanted[row, :n])


def test_a_peer_drops_as_often_as_the_model() -> None:
    theirs = peer(Wav2Vec2(**SIZES, dropout=0.25))
    assert {part.p for part in theirs.modules() if isinstance(part, nn.Dropout)} == {0.25}
