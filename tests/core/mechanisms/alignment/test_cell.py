"""Layers of PyTorch with one state: as PyTorch has them."""

import pytest
import torch

from zoo.core import CELLS, ConfigError
from zoo.core.mechanisms.alignment.cell import RecurrentCell, output_of


@pytest.mark.parametrize("kind", CELLS)
@torch.no_grad()
def test_a_cell_reads_on_from_its_state(kind: str) -> None:
    cell, x = RecurrentCell(kind, 3, 4, 2), torch.randn(2, 5, 3)
    first = torch.zeros(2, *cell.shape)
    whole, end = cell(x, first)
    before, state = cell(x[:, :3], first)
    after, again = cell(x[:, 3:], state)
    torch.testing.assert_close(torch.cat([before, after], 1), whole)
    torch.testing.assert_close(again, end)
    torch.testing.assert_close(output_of(end), whole[:, -1])
    torch.testing.assert_close(whole, cell.rnn(x)[0])


def test_the_forget_gate_of_an_lstm_begins_open() -> None:
    cell = RecurrentCell("lstm", 3, 4, 2)
    for layer in range(2):
        assert (cell.rnn.get_parameter(f"bias_ih_l{layer}")[4:8] == 1).all()


def test_other_cells_are_refused() -> None:
    with pytest.raises(ConfigError, match="cell='elman' is not one of lstm, gru"):
        RecurrentCell("elman", 3, 4)
    with pytest.raises(ConfigError, match="depth=0"):
        RecurrentCell("gru", 3, 4, 0)
