"""Graphs in one large batch, taken apart by the kit."""

import pytest
import torch

from zoo.testing import checks, graph_inputs, inputs

X = torch.arange(5.0)[:, None]
INDEX = torch.tensor([[0, 1, 3, 4], [1, 2, 4, 3]])
ATTR = torch.arange(4)
BATCH = torch.tensor([0, 0, 0, 1, 1])
PAIRS = torch.tensor([[0, 4, 3], [2, 3, 3]])


def test_they_are_told_from_other_inputs() -> None:
    assert graph_inputs.are_graphs((X, INDEX, None, BATCH))
    assert not graph_inputs.are_graphs((X, INDEX, None, None))
    assert not graph_inputs.are_graphs((X, INDEX))
    assert not graph_inputs.are_graphs((X, INDEX.float(), None, BATCH))
    assert inputs.lengths((X, INDEX, None, BATCH)) is None
    assert inputs.poisoned((X, INDEX, None, BATCH)) is None


def test_one_graph_is_taken_with_its_answers() -> None:
    found = inputs.item((X, INDEX, ATTR, BATCH, PAIRS), 1, 3)
    assert found is not None
    (x, index, attr, batch, pairs), own = found
    assert x.flatten().tolist() == [3, 4]
    assert index.tolist() == [[0, 1], [1, 0]]
    assert attr.tolist() == [2, 3]
    assert batch.tolist() == [0, 0]
    assert pairs.tolist() == [[1, 0], [0, 0]]
    assert own.tolist() == [False, True, True]
    assert inputs.item((X, INDEX, None, BATCH), 1, 5)[1].tolist() == [False] * 3 + [True] * 2
    assert inputs.item((X, INDEX, None, BATCH), 1, 2)[1].tolist() == [False, True]
    assert inputs.item((X, INDEX, None, BATCH), 2, 5) is None


def test_nodes_are_relabelled_within_their_graph() -> None:
    (x, index, attr, batch, pairs), order = inputs.permuted((X, INDEX, ATTR, BATCH, PAIRS))
    assert order.tolist() == [2, 1, 0, 4, 3]
    assert x.flatten().tolist() == order.tolist()
    assert batch.tolist() == BATCH.tolist()
    edges = {(float(x[a]), float(x[b])): int(c) for a, b, c in zip(*index.tolist(), attr.tolist(), strict=True)}
    assert edges == {(0.0, 1.0): 0, (1.0, 2.0): 1, (3.0, 4.0): 2, (4.0, 3.0): 3}
    assert x[pairs].flatten().tolist() == PAIRS.flatten().tolist()


class Leaky(torch.nn.Module):
    """Answer each graph with the sum of its features, or of all."""

    def __init__(self, leaks: bool) -> None:
        super().__init__()
        self.leaks = leaks

    def forward(self, x: torch.Tensor, index: torch.Tensor, attr: None, batch: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros(int(batch.max()) + 1, 1).index_add(0, batch, x)
        return sums.sum().expand(len(sums), 1) if self.leaks else sums


def test_a_graph_that_reads_its_batch_mates_fails() -> None:
    given = (X, INDEX, None, BATCH)
    checks.check_batch_mates(Leaky(False), given)
    with pytest.raises(AssertionError, match="item 0 alone and in its batch"):
        checks.check_batch_mates(Leaky(True), given)
