"""Graphs of networkx."""

import random
from typing import Any

import networkx
import pytest
import torch
from torch_geometric.utils import from_networkx

from zoo.errors import InputError
from zoo.plugins.graph.io.networkx_graphs import is_network, of_network


def test_undirected_edges_lead_both_ways_and_loops_once() -> None:
    graph = networkx.Graph([("a", "b"), ("b", "c"), ("c", "c")])
    given = of_network(graph, 0, 0)
    assert given.x.shape == (3, 0)
    assert sorted(map(tuple, given.edge_index.T.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    assert given.edge_attr is None


def test_attributes_follow_their_nodes_and_edges() -> None:
    graph = networkx.Graph()
    graph.add_node(7, x=torch.tensor([1, 2]))
    graph.add_node(3, x=[3, 4])
    graph.add_edge(7, 3, edge_attr=[5])
    given = of_network(graph, [9, 9], [9])
    assert given.x.tolist() == [[1, 2], [3, 4]]
    assert given.x.dtype == torch.int64
    assert given.edge_index.tolist() == [[0, 1], [1, 0]]
    assert given.edge_attr is not None
    assert given.edge_attr.tolist() == [[5], [5]]
    assert of_network(graph, 2, 1).x.dtype == torch.float32


def test_several_edges_between_two_nodes_stay_several() -> None:
    graph = networkx.MultiDiGraph([(0, 1), (0, 1), (1, 0)])
    assert of_network(graph, 0, 0).edge_index.tolist() == [[0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph])
def test_nodes_edges_and_attributes_are_those_of_pytorch_geometric(kind: Any) -> None:
    generator, graph = random.Random(0), kind()
    for node in "dbca":
        graph.add_node(node, x=[generator.random(), generator.random()])
    for _ in range(12):  # with self-loops, and some edges again
        graph.add_edge(generator.choice("abcd"), generator.choice("abcd"), edge_attr=[generator.random()])
    ours, theirs = of_network(graph, 2, 1), from_networkx(graph, ["x"], ["edge_attr"])
    assert ours.edge_attr is not None
    torch.testing.assert_close(ours.x, theirs.x)
    edges = [
        sorted(zip(*each.edge_index.tolist(), each.edge_attr[:, 0].tolist(), strict=True)) for each in (ours, theirs)
    ]
    assert edges[0] == edges[1]


def test_attributes_that_no_model_reads_may_differ_which_pytorch_geometric_refuses() -> None:
    graph = networkx.Graph()
    graph.add_node("a", x=1.0, name="first")
    graph.add_node("b", x=2.0)
    assert of_network(graph, 1, 0).x.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="Not all nodes contain the same attributes"):
        from_networkx(graph, ["x"])


def test_a_graph_without_edges_has_none() -> None:
    graph = networkx.empty_graph(3)
    given = of_network(graph, 0, [4, 2])
    assert given.edge_index.shape == (2, 0)
    assert given.edge_attr is not None
    assert given.edge_attr.shape == (0, 2)
    assert given.edge_attr.dtype == torch.int64


def test_missing_and_unequal_attributes_are_named() -> None:
    graph = networkx.Graph([("a", "b")])
    with pytest.raises(InputError, match="node 'a' has no attribute 'x', and the model reads features"):
        of_network(graph, 2, 0)
    networkx.set_node_attributes(graph, {"a": [1.0, 2.0], "b": 3.0}, "x")
    with pytest.raises(InputError, match="x of node 'b' has 1 numbers, and the model reads 2"):
        of_network(graph, 2, 0)
    with pytest.raises(InputError, match="edge 'a' to 'b' has no attribute 'edge_attr'"):
        of_network(graph, 0, 1)


def test_only_graphs_of_networkx_are_taken_for_them() -> None:
    assert is_network(networkx.path_graph(2))
    assert not is_network([(0, 1)])
