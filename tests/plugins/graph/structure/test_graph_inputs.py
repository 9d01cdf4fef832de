"""What a model of graphs takes, and what it refuses with which words."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import zoo
from zoo.core import InputError
from zoo.plugins.graph.structure.graph_inputs import check_batch, check_ends, read

X = torch.randn(4, 3)
INDEX = torch.tensor([[0, 1, 2], [1, 2, 3]])
BATCH = torch.tensor([0, 0, 0, 1])


def test_data_are_read_as_their_tensors_are() -> None:
    attr = torch.randn(3, 2)
    given = read((Data(x=X, edge_index=INDEX, edge_attr=attr),))
    assert given.x is X
    assert given.edge_index is INDEX
    assert given.edge_attr is attr
    assert given.batch is None
    assert read((X, INDEX, attr)).edge_attr is attr


def test_a_batch_knows_how_many_graphs_it_holds() -> None:
    empty = Data(x=X[:0], edge_index=INDEX[:, :0])
    given = read((Batch.from_data_list([Data(x=X, edge_index=INDEX), empty]),))
    assert given.batch is not None
    assert given.batch.tolist() == [0, 0, 0, 0]
    assert given.graphs == 2


def test_nodes_without_features_are_counted() -> None:
    assert read((Data(edge_index=INDEX, num_nodes=5),)).x.shape == (5, 0)


def test_pairs_are_those_of_the_data_unless_others_are_given() -> None:
    pairs, others = INDEX[:, :1], INDEX[:, 1:]
    data = Data(x=X, edge_index=INDEX, edge_label_index=pairs)
    assert read((data,)).pairs is pairs
    assert read((data, others)).pairs is others
    assert read((X, INDEX, None, None, others)).pairs is others


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ((), "nothing where graphs belong"),
        ((X,), "Tensor where graphs belong"),
        (("CCO",), r"str \('CCO'\) where graphs belong: .*zoo\.preprocess\(NAME\) makes them"),
        ((X, [[0], [1]]), "edge_index is a list and no tensor"),
        ((X[0], INDEX), r"x of shape \(3,\): it is \(nodes, features\), and one feature is a column: x\[:, None\]"),
        ((X, INDEX.T), r"edge_index of shape \(3, 2\) is not \(2, edges\).*transpose it, edge_index.t\(\)"),
        ((X, INDEX[0]), r"edge_index of shape \(3,\) is not \(2, edges\)"),
        ((X, INDEX.float()), r"edge_index is torch.float32, and nodes are whole numbers: edge_index.long\(\)"),
        ((X, INDEX, torch.randn(2, 5)), r"edge_attr of shape \(2, 5\) for 3 edges: one row for each edge"),
        ((X, INDEX, None, BATCH[:2]), r"batch of shape \(2,\) of torch.int64 for 4 nodes"),
        ((X, INDEX, None, BATCH.float()), r"batch of shape \(4,\) of torch.float32 for 4 nodes"),
        ((X, INDEX, None, BATCH, INDEX.T), r"pairs of shape \(3, 2\) is not \(2, edges\)"),
    ],
)
def test_what_is_no_graph_is_refused(inputs: tuple[Any, ...], text: str) -> None:
    with pytest.raises(InputError, match=text):
        read(inputs)


def test_data_without_edges_as_an_index_are_refused() -> None:
    with pytest.raises(InputError, match="has no edge_index; one with adj_t gets it by"):
        read((Data(x=X),))


@pytest.mark.parametrize(
    ("ends", "nodes", "text"),
    [
        (INDEX, 3, r"edge_index\[:, 2\] is \(2, 3\), and there are 3 nodes, 0 … 2"),
        (INDEX - 1, 4, r"edge_index\[:, 0\] is \(-1, 0\), and there are 4 nodes"),
        (INDEX, 0, r"edge_index\[:, 0\] is \(0, 1\), and there are no nodes"),
    ],
)
def test_edges_to_no_node_are_named(ends: Tensor, nodes: int, text: str) -> None:
    with pytest.raises(InputError, match=text):
        check_ends("edge_index", ends, nodes)


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        ([0, 1, 0, 1], "batch is not sorted: node 2 of graph 0 stands behind one of graph 1"),
        ([-1, 0, 0, 0], r"batch\[0\] is -1: graphs are not negative"),
        ([0, 0, 0, 1], r"edge_index\[:, 2\] is \(2, 3\), from graph 0 to graph 1: graphs do not read each other"),
    ],
)
def test_graphs_that_are_not_apart_are_refused(batch: list[int], text: str) -> None:
    with pytest.raises(InputError, match=text):
        check_batch(torch.tensor(batch), INDEX, None)


def test_nodes_of_a_graph_that_is_not_there_are_refused() -> None:
    whole = Data(x=X, edge_index=INDEX)
    shifted = Batch.from_data_list([whole, whole])
    shifted.batch = shifted.batch + 1
    with pytest.raises(InputError, match=r"batch\[4\] is 2, and there are 2 graphs, 0 … 1"):
        zoo.create("graph-tiny", node_features=3, edge_features=0, num_classes=2)(shifted)
    check_batch(shifted.batch, shifted.edge_index, None)
