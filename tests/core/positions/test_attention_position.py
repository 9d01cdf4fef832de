"""Position encodings on lines and grids."""

import math

import pytest
import torch

from zoo.core import ConfigError, InputError, Learned, Sinusoidal
from zoo.core.positions.absolute import position_encoding
from zoo.core.positions.attention_position import IN_ATTENTION

pytestmark = pytest.mark.usefixtures("float64")


def test_sinusoids_are_those_of_the_paper() -> None:
    table = Sinusoidal(6)((10,))
    for position in (0, 3, 9):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert float(table[position, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(table[position, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.bfloat16, 1e-2)])
def test_sinusoids_are_as_precise_as_the_model(dtype: torch.dtype, limit: float) -> None:
    table = Sinusoidal(6).to(dtype)
    for found in (table((1000,)), table.at(torch.arange(1000))):
        assert found.dtype is dtype
        wanted = [math.sin(999 / 10000 ** (2 * i / 6)) for i in range(3)]
        assert found[-1, ::2].tolist() == pytest.approx(wanted, abs=limit)


def test_a_learned_grid_is_interpolated_in_its_own_precision() -> None:
    position = Learned(2, (3, 3)).double()
    with torch.no_grad():
        position.table.copy_(1 + 1e-9 * torch.arange(9.0)[:, None])
    assert len(position((5, 5))[:, 0].unique()) > 1


def test_products_of_sinusoids_know_the_distance_only() -> None:
    vectors = Sinusoidal(16)((40,)).double()
    products = vectors @ vectors.mT
    for distance in (0, 1, 7, 30):
        along = products.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), atol=1e-5, rtol=0)
    assert products[0].argmax() == 0


def test_a_grid_of_sinusoids_joins_its_axes() -> None:
    table = Sinusoidal(8)((2, 3)).view(2, 3, 8)
    torch.testing.assert_close(table[:, 0, :4], table[:, 2, :4])
    torch.testing.assert_close(table[0, :, 4:], table[1, :, 4:])
    assert len({tuple(row.tolist()) for row in table.flatten(0, 1)}) == 6


def test_prefix_tokens_have_no_sinusoid() -> None:
    table = Sinusoidal(8, prefix=2)((3,))
    assert table.shape == (5, 8)
    assert not table[:2].any()
    torch.testing.assert_close(table[2:], Sinusoidal(8)((3,)))


def test_a_learned_grid_is_itself_at_its_own_size() -> None:
    position = Learned(4, (2, 3), prefix=1)
    assert position((2, 3)) is position.table


def test_a_learned_grid_is_interpolated_to_another_size() -> None:
    position = Learned(2, (3, 3), prefix=1)
    with torch.no_grad():
        position.table[1:] = torch.arange(3.0).repeat_interleave(3)[:, None]  # rises from row to row
    larger = position((6, 4))
    assert larger.shape == (25, 2)
    torch.testing.assert_close(larger[:1], position.table[:1])
    rows = larger[1:].view(6, 4, 2)
    torch.testing.assert_close(rows, rows[:, :1].expand(-1, 4, -1))
    assert (rows[1:, 0, 0] > rows[:-1, 0, 0]).all()


def test_gradients_reach_an_interpolated_table() -> None:
    position = Learned(2, (2, 2))
    position((4, 4)).sum().backward()
    assert position.table.grad is not None
    assert position.table.grad.abs().sum() > 0


def test_a_learned_line_is_cut_and_never_stretched() -> None:
    position = Learned(2, (5,))
    torch.testing.assert_close(position((3,)), position.table[:3])
    with pytest.raises(InputError, match="length 6 is more than the 5 positions that were learned"):
        position((6,))


def test_a_grid_of_other_axes_is_refused() -> None:
    with pytest.raises(InputError, match="a grid of 1 axes given to positions of 2"):
        Learned(2, (2, 2))((4,))


def test_names_and_an_unknown_name() -> None:
    assert isinstance(position_encoding("learned", 4, (2,)), Learned)
    assert isinstance(position_encoding("sinusoidal", 4, (2,)), Sinusoidal)
    assert all(position_encoding(name, 4, (2,)) is None for name in ("none", *IN_ATTENTION))
    with pytest.raises(
        ConfigError, match="position='magic' is not one of learned, sinusoidal, floater, recurrent, none, rotary, alibi"
    ):
        position_encoding("magic", 4, (2,))


@pytest.mark.parametrize("encoding", [Learned(6, (9,)), Learned(6, (7,), prefix=2), Sinusoidal(6, prefix=2)])
def test_a_step_at_a_position_gets_what_the_whole_line_gets_there(encoding: Learned | Sinusoidal) -> None:
    line = encoding((7,)) if encoding.prefix else encoding((9,))
    steps = torch.stack([encoding.at(torch.tensor([[t]]))[0, 0] for t in range(9)])
    torch.testing.assert_close(steps, line)
    rows = torch.tensor([[0, 1, 2], [6, 7, 8]])
    torch.testing.assert_close(encoding.at(rows), line[rows])


@pytest.mark.parametrize("encoding", [Learned(6, (9,)), Sinusoidal(6)])
def test_padding_before_the_first_position_gets_zero(encoding: Learned | Sinusoidal) -> None:
    y = encoding.at(torch.tensor([[-2, -1, 0]]))
    assert not y[0, :2].any()
    torch.testing.assert_close(y[0, 2], encoding((1,))[0])


def test_a_position_that_was_not_learned_is_refused() -> None:
    with pytest.raises(InputError, match="position 5 is not one of the 5 that were learned"):
        Learned(2, (5,)).at(torch.tensor([[3, 5]]))
