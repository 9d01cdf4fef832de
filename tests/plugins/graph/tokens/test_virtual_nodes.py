"""Nodes that read all of a graph and are read by all of it."""

from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core import ConfigError, Encoder, InputError, Segments, Tokens, Window
from zoo.core.patterns.edges import Edges
from zoo.plugins.graph.structure.graph_pattern import Graph
from zoo.plugins.graph.tokens.virtual_nodes import VirtualNodes, spokes

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 1, 3], [1, 2, 4]])
IDS = torch.tensor([[0, 0, 0, 1, 1]])


def tokens(x: Tensor, ids: Tensor | None = IDS) -> Tokens:
    sets = None if ids is None else Segments(ids, count=2)
    return Tokens(x, Graph.of(Edges(INDEX), None, sets), sets)


def test_they_read_all_nodes_of_their_graph_and_are_read_by_them() -> None:
    joined = VirtualNodes(Encoder(8, 1, 2, 8), 8, 2).joined(tokens(torch.randn(1, 5, 8)))
    mask = joined.pattern.mask(torch.arange(9)[None], torch.arange(9))[0, 0]
    wanted = torch.zeros(9, 9, dtype=torch.bool)
    wanted[INDEX[1], INDEX[0]] = True
    for virtual, nodes in ((5, [0, 1, 2]), (6, [0, 1, 2]), (7, [3, 4]), (8, [3, 4])):
        wanted[virtual, nodes] = wanted[nodes, virtual] = True
    assert torch.equal(mask, wanted)
    assert joined.keys.ids.tolist() == [[0, 0, 0, 1, 1, 0, 0, 1, 1]]


@pytest.mark.parametrize("ids", [IDS, None])
def test_far_nodes_meet_in_two_steps_and_graphs_never(ids: Tensor | None) -> None:
    encoder = VirtualNodes(Encoder(8, 2, 2, 8), 8)
    x = torch.randn(1, 5, 8)
    other = x.clone()
    other[0, 2, 0] += 1
    moved = (encoder(tokens(other, ids)).x != encoder(tokens(x, ids)).x).any(2)[0]
    assert moved.tolist() == [True, True, True, ids is None, ids is None]


def test_answers_are_those_of_the_nodes_alone_in_every_state() -> None:
    encoder = VirtualNodes(Encoder(8, 3, 2, 8), 8)
    given = tokens(torch.randn(1, 5, 8))
    states = list(encoder.states(given))
    assert [state.x.shape for state in states] == [(1, 5, 8)] * 3
    torch.testing.assert_close(states[-1].x, encoder(given).x)
    assert encoder(given).keys is given.keys


def test_their_edges_are_made_once() -> None:
    encoder, given = VirtualNodes(Encoder(8, 1, 2, 8), 8), tokens(torch.randn(1, 5, 8))
    first, second = (encoder.joined(given).pattern for _ in range(2))
    assert first.listing is second.listing


def test_their_edges_are_made_once_beside_global_nodes() -> None:
    model: Any = zoo.create("graph-tiny", node_features=3, edge_features=0, virtual_nodes=1, global_nodes=[0]).eval()
    x, seen = torch.randn(5, 3), list[Any]()
    model.encoder.encoder.register_forward_pre_hook(lambda _, given: seen.append(given[0].pattern))
    for _ in range(2):
        model(x, INDEX)
    assert seen[0].listing is seen[1].listing


def test_spokes_lead_both_ways() -> None:
    assert spokes(2, 1, None, INDEX).tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]


def test_what_is_no_graph_gets_no_virtual_nodes() -> None:
    with pytest.raises(ConfigError, match="virtual_nodes=0: at least 1"):
        VirtualNodes(Encoder(8, 1, 2, 8), 8, 0)
    for pattern in (None, Window(1), Window(1) & Graph.of(Edges(INDEX), None, None)):
        with pytest.raises(InputError, match="virtual nodes are added to graphs"):
            VirtualNodes(Encoder(8, 1, 2, 8), 8)(Tokens(torch.randn(1, 5, 8), pattern))
