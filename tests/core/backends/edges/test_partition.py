"""How much of a graph's attention is computed at once."""

import pytest
import torch

from zoo.core.backends.edges import partition
from zoo.core.backends.edges.partition import Work, rows_and_heads
from zoo.core.patterns.edges import Edges


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        (0, (3, 6)),  # all there is, and no more
        (4, (3, 6)),
        (5, (2, 6)),  # whole rows as far as they fit
        (12, (1, 6)),
        (13, (1, 4)),  # then heads that share their keys together
        (24, (1, 2)),
        (1000, (1, 2)),
    ],
)
def test_as_many_rows_and_heads_as_fit(monkeypatch: pytest.MonkeyPatch, edges: int, wanted: tuple[int, int]) -> None:
    monkeypatch.setattr(partition, "BLOCK", 72)
    assert rows_and_heads(edges, batch=3, heads=6, shared=2) == wanted


@pytest.mark.parametrize("fit", [1, 20, 40, 48, 1000])
def test_the_parts_hold_each_head_of_each_row_once_and_as_many_as_fit(
    monkeypatch: pytest.MonkeyPatch, fit: int
) -> None:
    monkeypatch.setattr(partition, "BLOCK", fit)
    graph = Edges(torch.arange(5).repeat(2, 1))
    work = Work(graph, 0, 5, 5, 4, 2, None, None, 1.0, 0.0, 0)
    seen, entries = torch.zeros(3, 4), 0
    for part in work.parts(3):
        seen[part.batch, part.heads] += 1
        assert (part.groups.start, part.groups.stop) == (part.heads.start // 2, part.heads.stop // 2)
        entries += len(part.csr.rows)
        assert len(part.csr.rows) <= max(fit, 5 * 2)
        heads = torch.arange(part.heads.start, part.heads.stop)
        wanted = (torch.arange(5)[:, None] * 4 + heads).flatten().repeat(part.batch.stop - part.batch.start)
        assert part.places.tolist() == wanted.tolist()
    assert seen.eq(1).all()
    assert entries == work.entries(3)
