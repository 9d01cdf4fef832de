"""Nodes in an order in which neighbours stand close together."""

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core.errors import InputError
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.structure.node_reordering import Order, local_order

pytestmark = pytest.mark.usefixtures("float64")


def grid(side: int) -> Tensor:
    places = torch.arange(side * side).view(side, side)
    right = torch.stack([places[:, :-1].flatten(), places[:, 1:].flatten()])
    down = torch.stack([places[:-1].flatten(), places[1:].flatten()])
    ends = torch.cat([right, down], 1)
    return torch.cat([ends, ends.flip(0)], 1)


def shuffled(index: Tensor, nodes: int) -> Tensor:
    return torch.randperm(nodes, generator=torch.Generator().manual_seed(0))[index]


def test_neighbours_stand_as_close_as_a_grid_allows() -> None:
    given = GraphInputs(torch.zeros(400, 0), shuffled(grid(20), 400))
    index = local_order(given).given(given).edge_index
    assert int((given.edge_index[0] - given.edge_index[1]).abs().max()) > 300
    assert int((index[0] - index[1]).abs().max()) <= 2 * 20


def test_each_node_stands_once() -> None:
    order = local_order(GraphInputs(torch.zeros(9, 0), grid(3)))
    assert sorted(order.nodes.tolist()) == list(range(9))
    assert order.back(order.nodes).tolist() == list(range(9))


def test_a_model_answers_the_same_in_another_order() -> None:
    model = zoo.create("graph-tiny", node_features=3, edge_features=2, task="tag", num_classes=4).eval()
    index = shuffled(grid(3), 9)
    index = torch.cat([index, index + 9], 1)
    batch = torch.arange(2).repeat_interleave(9)
    given = GraphInputs(torch.randn(18, 3), index, torch.randn(index.shape[1], 2), batch)
    order = local_order(given)
    ordered = order.given(given)
    assert ordered.batch is not None
    assert ordered.batch.equal(batch)
    torch.testing.assert_close(order.back(model(*ordered[:4])), model(*given[:4]))


def test_pairs_are_named_anew() -> None:
    given = GraphInputs(torch.zeros(3, 0), torch.tensor([[0], [1]]), pairs=torch.tensor([[0, 1], [2, 1]]))
    ordered = Order(torch.tensor([2, 0, 1])).given(given)
    assert ordered.pairs is not None
    assert ordered.pairs.tolist() == [[1, 2], [0, 2]]


def test_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"edge_index\[:, 0\] is \(0, 5\)"):
        local_order(GraphInputs(torch.zeros(2, 0), torch.tensor([[0], [5]])))
