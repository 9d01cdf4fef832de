"""`NodeStem`: nodes as tokens."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from zoo.core import ConfigError, Edges, Globals, InputError, Segments
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_pattern import Graph
from zoo.plugins.graph.tokens.node_stem import NodeStem

INDEX = torch.tensor([[0, 1, 2], [1, 2, 0]])
X = torch.randn(3, 2)


def test_nodes_of_one_graph_are_a_row_and_edges_its_pattern() -> None:
    stem = NodeStem(4, 2)
    tokens = stem(X, INDEX)
    torch.testing.assert_close(tokens.x[0], stem.features(X))
    assert isinstance(tokens.pattern, Graph)
    assert tokens.keys is None
    assert torch.equal(tokens.pattern.index, INDEX)


def test_graphs_are_packed_and_never_padded() -> None:
    one, other = Data(x=X, edge_index=INDEX), Data(x=X[:1], edge_index=INDEX[:, :0])
    tokens = NodeStem(4, 2)(Batch.from_data_list([one, other, one]))
    assert tokens.x.shape == (1, 7, 4)
    assert isinstance(tokens.keys, Segments)
    assert tokens.keys.ids.tolist() == [[0, 0, 0, 1, 2, 2, 2]]
    assert tokens.keys.sets == 3
    assert tokens.pattern.index.tolist() == [[0, 1, 2, 4, 5, 6], [1, 2, 0, 5, 6, 4]]


def test_positions_are_added() -> None:
    stem = NodeStem(4, 2, position="degree", position_dim=3)
    plain = stem.features(X)
    torch.testing.assert_close(stem(X, INDEX).x[0], plain + stem.position.into.weight[1] + stem.position.out.weight[1])


def test_edges_that_are_read_again_are_worked_out_once() -> None:
    stem, index = NodeStem(4, 2, position="random-walk"), INDEX.clone()
    first, second = (stem(X, index).pattern for _ in range(2))
    assert first.listing is second.listing


def test_features_of_edges_come_along_where_they_are_read() -> None:
    attr = torch.randn(3)
    graph = NodeStem(4, 2, 1)(X, INDEX, attr).pattern
    assert graph.features.tolist() == attr[:, None].tolist()
    assert NodeStem(4, 2)(X, INDEX, attr).pattern.features is None


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_there_need_not_be_edges_nor_nodes(nodes: int) -> None:
    for position in ("random-walk", "laplacian", "degree"):
        stem = NodeStem(4, 2, position=position).eval()
        tokens = stem(X[:nodes], INDEX[:, :0])
        assert tokens.x.isfinite().all()
        assert tokens.pattern.index.numel() == 0
        batched = stem(X[:nodes], INDEX[:, :0], None, torch.zeros(nodes, dtype=torch.long))
        torch.testing.assert_close(batched.x, tokens.x)


def test_equal_edges_count_each_unless_told_otherwise() -> None:
    twice = torch.cat([INDEX, INDEX[:, :1]], dim=1)
    assert NodeStem(4, 2)(X, twice).pattern.repeated
    assert not NodeStem(4, 2, rules=EdgeRules(duplicates="once"))(X, twice).pattern.repeated
    with pytest.raises(InputError, match=r"is \(0, 1\) again"):
        NodeStem(4, 2, rules=EdgeRules(duplicates="error"))(X, twice)


def test_features_of_edges_that_are_missing_or_wrong_are_named() -> None:
    with pytest.raises(InputError, match="no edge_attr for a model made with edge_features=2"):
        NodeStem(4, 2, 2)(X, INDEX)
    with pytest.raises(InputError, match=r"edge_attr of shape \(3, 1\): the model reads 2 channels; edge_features="):
        NodeStem(4, 2, 2)(X, INDEX, torch.randn(3))
    with pytest.raises(InputError, match=r"edge_attr\[0, 1\] is 7: its columns have \[3, 2\] categories"):
        NodeStem(4, 2, [3, 2])(X, INDEX, torch.tensor([[0, 7], [0, 0], [0, 0]]))


def test_gradients_reach_the_features_of_nodes() -> None:
    x = X.clone().requires_grad_()
    NodeStem(4, 2)(x, INDEX).x.square().sum().backward()
    assert x.grad is not None
    assert x.grad.all()


def test_global_nodes_are_edges_or_globals_graph_by_graph() -> None:
    index = torch.tensor([[0, 1, 2, 4], [1, 2, 0, 3]])
    stem = NodeStem(4, 0, global_nodes=[1, 2])
    graph = stem(torch.zeros(5, 0), index, None, torch.tensor([0, 0, 0, 1, 1])).pattern
    i, j = torch.arange(5)[None], torch.arange(5)
    one, other = (Edges(part) | Globals(nodes) for part, nodes in ((index[:, :3], (1, 2)), (index[:, 3:] - 3, (1,))))
    wanted = torch.zeros(5, 5, dtype=torch.bool)
    wanted[:3, :3] = one.mask(i[:, :3], j[:3])[0, 0]
    wanted[3:, 3:] = other.mask(i[:, :2], j[:2])[0, 0]
    assert torch.equal(graph.mask(i, j)[0, 0], wanted)
    assert not graph.repeated
    with pytest.raises(ConfigError, match=r"global_nodes=\[-1\]: nodes are not negative"):
        NodeStem(4, 0, global_nodes=[-1])
