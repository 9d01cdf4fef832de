"""Windows, chunks and neighbourhoods."""

from collections.abc import Callable

import pytest
import torch

from zoo.core import Chunk, ConfigError, InputError, Neighbourhood, Window, attend
from zoo.core.patterns.pattern import Pattern


def rows(pattern: Pattern, n: int) -> list[list[int]]:
    mask = pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0]
    return [row.nonzero()[:, 0].tolist() for row in mask]


def test_a_window_reads_exactly_so_far_on_each_side() -> None:
    assert rows(Window(1, 2), 5) == [[0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4], [3, 4]]
    assert Window(3) == Window(3, 3)


def test_a_dilated_window_steps_over_what_lies_between() -> None:
    assert rows(Window(1, 1, 2), 5) == [[0, 2], [1, 3], [0, 2, 4], [1, 3], [2, 4]]


def test_a_chunk_reads_itself_and_those_before() -> None:
    assert rows(Chunk(2, 1), 5) == [[0, 1], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3], [2, 3, 4]]


def test_a_neighbourhood_is_a_square_of_the_grid() -> None:
    found = rows(Neighbourhood(3, 3, 1), 9)
    assert found[0] == [0, 1, 3, 4]
    assert found[4] == list(range(9))
    assert found[5] == [1, 2, 4, 5, 7, 8]


def test_positions_before_the_grid_read_all_and_are_read_by_all() -> None:
    found = rows(Neighbourhood(2, 3, 0, prefix=1), 7)
    assert found[0] == list(range(7))
    assert found[3] == [0, 3]


def test_a_grid_of_another_size_is_refused() -> None:
    x = torch.zeros(1, 10, 1, 2)
    with pytest.raises(InputError, match="is a grid of 3 x 3: 9 positions; got 10 queries from 0 on and 10 keys"):
        attend(x, x, x, Neighbourhood(3, 3, 1))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Window(-1), r"Window\(left=-1, right=-1, dilation=1\): left and right are at least 0"),
        (lambda: Window(1, 1, 0), "dilation at least 1"),
        (lambda: Chunk(0), "size is at least 1"),
        (lambda: Chunk(2, -1), "left_chunks at least 0"),
        (lambda: Neighbourhood(0, 2, 1), "height and width are at least 1"),
        (lambda: Neighbourhood(2, 2, -1), "radius and prefix at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        make()
