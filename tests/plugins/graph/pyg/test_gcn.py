"""Graph convolutional networks: against the paper's formula and PyTorch Geometric's layer, graph by graph."""

from typing import Any

import pytest
import torch

import zoo
from zoo.core import Segments, Tokens
from zoo.core.patterns.edges import Edges
from zoo.errors import ConfigError, InputError
from zoo.plugins.graph.pyg.gcn import GcnBlock
from zoo.plugins.graph.structure.graph_pattern import Graph

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 1, 2, 2, 4, 3], [1, 2, 0, 1, 3, 4]])
SETS = Segments(torch.tensor([[0, 0, 0, 1, 1]]), count=2)


def tokens(x: torch.Tensor, index: torch.Tensor = INDEX) -> Tokens:
    return Tokens(x, Graph.of(Edges(index), None, SETS), SETS)


def test_a_block_is_the_normed_adjacency_of_the_paper_and_a_residual() -> None:
    block, x = GcnBlock(4).eval(), torch.randn(1, 5, 4)
    adjacency = torch.eye(5).index_put((INDEX[1], INDEX[0]), torch.ones(6))  # row reads column; eq. 2
    scale = adjacency.sum(1).rsqrt()
    read = (scale[:, None] * adjacency * scale) @ (x[0] @ block.conv.lin.weight.T) + block.conv.bias
    expected = x + block.norm(read[None]).relu()
    torch.testing.assert_close(block(tokens(x)).x, expected, rtol=1e-5, atol=1e-5)


def model(**options: Any) -> Any:
    torch.manual_seed(0)
    sizes = {"dim": 8, "depth": 2, "node_features": 3, "num_classes": 2}
    return zoo.create("gcn-micro", **{**sizes, "edge_features": 0, **options}).eval()


def test_a_graph_is_answered_as_if_it_were_alone() -> None:
    gcn, x = model(), torch.randn(5, 3)
    together = gcn(x, INDEX, None, torch.tensor([0, 0, 0, 1, 1]))
    torch.testing.assert_close(together[:1], gcn(x[:3], INDEX[:, :4]))
    torch.testing.assert_close(together[1:], gcn(x[3:], INDEX[:, 4:] - 3))


def test_a_node_reads_as_far_as_there_are_layers() -> None:
    gcn, x = model(task="features", position="none"), torch.randn(5, 3)
    path = torch.stack([torch.arange(4), torch.arange(1, 5)])
    changed = x.index_put((torch.tensor([0]),), torch.randn(1, 3))
    moved = (gcn(x, path) - gcn(changed, path)).abs().amax(1) > 1e-12
    assert moved.tolist() == [True, True, True, False, False]


def test_features_of_edges_are_taken_and_not_read() -> None:
    gcn, x = model(edge_features=[4]), torch.randn(3, 3)
    answers = [gcn(x, INDEX[:, :4], attr) for attr in (torch.zeros(4, 1).long(), torch.ones(4, 1).long())]
    torch.testing.assert_close(*answers)


@pytest.mark.parametrize("task", ["classify", "tag", "link"])
def test_tasks(task: str) -> None:
    pairs = (torch.tensor([[0, 1], [2, 0]]),) if task == "link" else ()
    answer = model(task=task)(torch.randn(3, 3), INDEX[:, :4], None, None, *pairs)
    assert answer.shape == {"classify": (1, 2), "tag": (3, 2), "link": (2, 2)}[task]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="depth=0"):
        model(depth=0)
    with pytest.raises(InputError, match="one row of nodes and a Graph"):
        GcnBlock(4)(Tokens(torch.randn(1, 5, 4)))
