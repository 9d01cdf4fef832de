"""Partition: which calls are cut into several, and into which."""

from dataclasses import replace

import pytest
import torch

from zoo.core import Lengths, Window, attend
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.partition import partition
from zoo.core.patterns.padding import Segments

pytestmark = pytest.mark.usefixtures("float64")


def test_rows_with_their_own_starts_are_cut_into_rows() -> None:
    long = torch.randn(2, 3000, 1, 8)
    given = Arguments(long, long, long, Window(8), Lengths(torch.tensor([3000, 9])), q_start=torch.tensor([0, 0]))
    parts = partition(given, given.problem())
    assert parts is not None
    assert [(call.q.shape[0], call.q_start) for call in parts.calls] == [(1, 0), (1, 0)]
    assert partition(replace(given, q_start=0), replace(given, q_start=0).problem()) is None


@pytest.mark.parametrize(("lengths", "calls"), [([2000, 30, 2000], 3), ([40] * 50, 1)])
def test_packed_sets_become_calls_or_rows_of_their_own_with_the_same_answer(lengths: list[int], calls: int) -> None:
    ids = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))[None]
    x = torch.randn(1, ids.shape[1], 1, 8)
    given = Arguments(x, x, x, keys=Segments(ids))
    parts = partition(given, given.problem())
    assert parts is not None
    assert len(parts.calls) == calls
    alone = torch.cat([attend(one, one, one) for one in x.split(lengths, 1)], 1)
    torch.testing.assert_close(attend(x, x, x, keys=Segments(ids)), alone)


def test_a_forced_backend_gets_packed_sets_as_they_are() -> None:
    x = torch.randn(1, 4000, 1, 8)
    given = Arguments(x, x, x, keys=Segments(torch.arange(2).repeat_interleave(2000)[None]), backend="dense")
    assert partition(given, given.problem()) is None
