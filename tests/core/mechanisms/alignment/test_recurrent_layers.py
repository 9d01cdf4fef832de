"""Recurrent layers that decode alone: against PyTorch's, step by step, padding, and what is refused."""

from typing import Any

import pytest
import torch

from zoo.core import ConfigError, Lengths, RecurrentLayers, Tokens, Valid

pytestmark = pytest.mark.usefixtures("float64")
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
each_cell = pytest.mark.parametrize("cell", CELLS)


def layers(cell: str) -> RecurrentLayers:
    torch.manual_seed(0)
    return RecurrentLayers(cell, 6, 2).eval()


@each_cell
@torch.no_grad()
def test_rows_and_single_steps_are_those_of_torch(cell: str) -> None:
    made, peer, x = layers(cell), CELLS[cell](6, 6, 2, batch_first=True), torch.randn(2, 5, 6)
    peer.load_state_dict(made.cell.rnn.state_dict())
    torch.testing.assert_close(made(Tokens(x)).x, peer(x)[0])
    state, hidden = made.state(2), None
    for token in x.split(1, dim=1):
        y, hidden = peer(token, hidden)
        torch.testing.assert_close(made(Tokens(token), None, state).x, y)
    assert state.next.tolist() == [5, 5]


@each_cell
@torch.no_grad()
def test_padding_changes_nothing_wherever_it_stands_with_a_state_and_without(cell: str) -> None:
    made, x = layers(cell), torch.randn(1, 6, 6)
    valid = torch.tensor([[False, True, True, False, True, False]])
    given = Tokens(x.masked_fill(~valid[..., None], torch.nan), keys=Valid(valid))
    alone = made(Tokens(x[:, valid[0]])).x
    state = made.state(1)
    for found in (made(given).x, made(given, None, state).x):
        torch.testing.assert_close(found[valid][None], alone)
    more = torch.randn(1, 1, 6)
    whole = made(Tokens(torch.cat([x[:, valid[0]], more], 1))).x
    torch.testing.assert_close(made(Tokens(more), None, state).x, whole[:, -1:])


@each_cell
def test_gradients_reach_what_is_there_and_nothing_else(cell: str) -> None:
    x = torch.randn(2, 4, 6, requires_grad=True)
    layers(cell)(Tokens(x, keys=Lengths(torch.tensor([4, 2])))).x.sum().backward()
    assert x.grad is not None
    assert (x.grad.abs().amax(2) > 0).tolist() == [[True] * 4, [True, True, False, False]]


@each_cell
@torch.no_grad()
def test_the_state_has_the_same_size_however_much_was_read(cell: str) -> None:
    made, state, sizes = layers(cell), layers(cell).state(1), []
    for n in (1, 50):
        made(Tokens(torch.randn(1, n, 6)), None, state)
        sizes.append(state.stored)
    assert sizes[0] == sizes[1] > 0


def test_the_vectors_of_an_encoder_are_refused() -> None:
    x: Any = Tokens(torch.randn(1, 2, 6))
    with pytest.raises(ConfigError, match="RecurrentLayers decodes alone"):
        layers("gru")(x, x)
