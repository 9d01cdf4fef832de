"""The sparse matrices of a graph: copies beside each other, and how high their positions may count."""

import pytest
import torch

from zoo.core import attend
from zoo.core.ops import csr
from zoo.core.patterns.edges import Edges

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 2, 1, 0, 2], [0, 0, 1, 3, 3]])
"""Keys 0 to 2, queries 0 to 3, of which 2 reads nothing; ordered by query."""


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("heads", "shared"), [(1, 1), (4, 1), (4, 2), (4, 4)])
def test_each_row_and_head_has_its_copy_where_its_vectors_lie(batch: int, heads: int, shared: int) -> None:
    groups = heads // shared
    made = csr.csr(INDEX, torch.arange(5), 4, 3, 1000).stack(batch, heads, shared)
    row_of = torch.arange(batch * 4 * heads).view(batch, 4, heads)
    column_of = torch.arange(batch * 3 * groups).view(batch, 3, groups)
    wanted = [
        (int(row_of[b, q, h]), int(column_of[b, k, h // shared]), edge)
        for b in range(batch)
        for edge, (k, q) in enumerate(INDEX.T.tolist())
        for h in range(heads)
    ]
    entries = [*zip(made.rows.tolist(), made.columns.tolist(), made.edges.tolist(), strict=True)]
    assert sorted(entries) == sorted(wanted)
    assert made.rows.tolist() == sorted(made.rows.tolist())
    assert made.pointers.diff().tolist() == made.rows.bincount(minlength=row_of.numel()).tolist()
    assert sorted(made.back_order.tolist()) == list(range(len(entries)))
    assert made.back_rows.tolist() == made.rows[made.back_order].tolist()
    of_columns = torch.arange(batch * 3 * heads).repeat_interleave(made.back_pointers.diff())
    assert (of_columns // shared).tolist() == made.columns[made.back_order].tolist()


def test_positions_beyond_32_bits_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for highest, dtype in ((csr.INT32, torch.int32), (19, torch.int64)):
        monkeypatch.setattr(csr, "INT32", highest)
        tensors = [torch.linspace(-1, 1, 2 * n * 2 * 3).view(2, n, 2, 3).requires_grad_() for n in (4, 3, 3)]
        pattern = Edges(INDEX)
        y = attend(tensors[0], tensors[1], tensors[2], pattern, backend="edges")
        answers.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
        assert {made.columns.dtype for made in pattern.listing.matrices.values() if len(made.rows) > 5} == {dtype}
    torch.testing.assert_close(answers[0], answers[1])


@pytest.mark.parametrize("entries", [6, 60])
def test_sums_of_short_and_long_rows_are_those_of_their_entries(entries: int) -> None:
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(5, (2, entries), generator=generator)
    order = torch.argsort(index[1], stable=True)
    matrix = csr.csr(index[:, order], order, 5, 5, entries)
    numbers = torch.rand(entries, generator=generator)
    assert (entries <= csr.SHORT * 5) == (entries == 6)  # both ways are taken
    wanted = torch.stack([numbers[matrix.rows == row].sum() for row in range(5)])
    torch.testing.assert_close(matrix.total(numbers), wanted)
