"""Global positions, blocks, and the factorised patterns."""

from collections.abc import Callable

import pytest
import torch

from zoo.core import Blocks, ConfigError, Fixed, Globals, Strided, big_bird
from zoo.core.patterns.pattern import Pattern
from zoo.core.patterns.sparse import lra_local


def rows(pattern: Pattern, n: int) -> list[list[int]]:
    mask = pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0]
    return [row.nonzero()[:, 0].tolist() for row in mask]


def test_globals_read_all_and_are_read_by_all() -> None:
    assert rows(Globals((2,)), 4) == [[2], [2], [0, 1, 2, 3], [2]]
    assert Globals((3, 1, 3)) == Globals((1, 3))


def test_blocks_read_blocks_and_what_lies_behind_reads_nothing() -> None:
    assert rows(Blocks(2, ((0,), (0, 1))), 5) == [[0, 1], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3], []]


def test_fixed_reads_its_stretch_and_the_summaries_before() -> None:
    assert rows(Fixed(3, 1), 8) == [[0], [0, 1], [0, 1, 2], [2, 3], [2, 3, 4], [2, 3, 4, 5], [2, 5, 6], [2, 5, 6, 7]]


def test_strided_reads_the_last_ones_and_each_stride_before() -> None:
    assert rows(Strided(2), 6) == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [0, 2, 3, 4], [1, 3, 4, 5]]


def test_big_bird_reads_neighbours_first_last_and_random_blocks() -> None:
    pattern = big_bird(80, 4, window=1, randoms=3, seed=1)
    assert len(pattern.reads) == 20
    assert pattern.reads[0] == pattern.reads[-1] == tuple(range(20))
    for a, row in enumerate(pattern.reads[2:-2], 2):
        assert {0, 19, a - 1, a, a + 1} <= set(row)
        assert len(row) == 8
    assert pattern == big_bird(80, 4, window=1, randoms=3, seed=1)
    assert pattern != big_bird(80, 4, window=1, randoms=3, seed=2)


def test_big_bird_of_few_blocks_is_full() -> None:
    assert torch.tensor([len(row) for row in rows(big_bird(12, 4), 12)]).eq(12).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Globals((-1,)), "positions are not negative"),
        (lambda: Blocks(0, ()), "size is at least 1"),
        (lambda: Blocks(2, ((-1,),)), "blocks are not negative"),
        (lambda: Fixed(2, 3), "summary lies in 1 … size"),
        (lambda: Strided(0), "stride is at least 1"),
        (lambda: lra_local(0, 12), r"lra_local\(0, 12\): size and length are at least 1"),
        (lambda: lra_local(5, 0), r"lra_local\(5, 0\)"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        make()
