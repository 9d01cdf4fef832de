"""Recurrent encoders: against PyTorch's layers, padding anywhere, the direction, and what is refused."""

from typing import Any

import pytest
import torch

import zoo
from zoo.core import Tokens, Valid
from zoo.errors import ConfigError
from zoo.plugins.text.models.recurrent import BidirectionalBlock, RecurrentBlock

pytestmark = pytest.mark.usefixtures("float64")
NAMES = ("lstm-micro", "gru-micro")


def model(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create(name, vocab_size=12, num_classes=3, dim=6, **options).eval()


@pytest.mark.parametrize(("name", "cell"), [("lstm-micro", torch.nn.LSTM), ("gru-micro", torch.nn.GRU)])
def test_two_layers_are_those_of_torch(name: str, cell: Any) -> None:
    made, peer = model(name), cell(6, 6, 2, batch_first=True)
    for layer, block in enumerate(made.encoder.blocks):
        for key, weight in block.rnn.named_parameters():
            peer.get_parameter(key.replace("l0", f"l{layer}")).data.copy_(weight)
    x = torch.randn(2, 5, 6)
    torch.testing.assert_close(made.encoder(Tokens(x)).x, peer(x)[0])


@pytest.mark.parametrize("cell", [torch.nn.LSTM, torch.nn.GRU])
def test_what_is_not_there_changes_no_state_wherever_it_stands(cell: Any) -> None:
    block, x = RecurrentBlock(cell, 4).double(), torch.randn(1, 6, 4)
    valid = torch.tensor([[False, True, True, False, True, False]])
    given = Tokens(x.masked_fill(~valid[..., None], torch.nan), keys=Valid(valid))
    torch.testing.assert_close(block(given).x[valid][None], block(Tokens(x[:, valid[0]])).x)


@pytest.mark.parametrize("cell", [torch.nn.LSTM, torch.nn.GRU])
def test_both_directions_are_those_of_torch_wherever_padding_stands(cell: Any) -> None:
    block, peer = BidirectionalBlock(cell, 4).double(), cell(4, 2, batch_first=True, bidirectional=True).double()
    for rnn, suffix in zip(block.rnns, ("", "_reverse"), strict=True):
        for key, weight in rnn.named_parameters():
            peer.get_parameter(key + suffix).data.copy_(weight)
    x = torch.randn(1, 6, 4)
    torch.testing.assert_close(block(Tokens(x)).x, peer(x)[0])
    valid = torch.tensor([[False, True, True, False, True, False]])
    given = Tokens(x.masked_fill(~valid[..., None], torch.nan), keys=Valid(valid))
    torch.testing.assert_close(block(given).x[valid][None], peer(x[:, valid[0]])[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_token_reads_those_before_it_only(name: str) -> None:
    made, ids = model(name, task="features"), torch.full((1, 9), 5)
    changed = ids.index_fill(1, torch.tensor([4]), 6)
    differs = ((made(ids) - made(changed)).abs().amax(2)[0] > 0).tolist()
    assert differs == [False] * 4 + [True] * 5


def test_the_forget_gate_of_an_lstm_begins_open() -> None:
    bias = model("lstm-micro").encoder.blocks[0].rnn.bias_ih_l0
    assert bias[6:12].tolist() == [1] * 6
    assert (bias[:6] != 1).all()


@pytest.mark.parametrize(
    ("options", "text"), [({"cell": "rnn"}, "cell='rnn' is not one of lstm, gru"), ({"depth": 0}, "depth=0")]
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model("lstm-micro", **options)
