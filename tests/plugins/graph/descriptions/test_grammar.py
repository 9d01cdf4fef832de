import random
from collections import Counter
from typing import Any

import networkx
import pytest
import torch

from zoo.plugins.graph.descriptions.grammar import COLOURS, NUMBERS, SHAPES, Part, describe, draw_graphs, graph_of

MAKE = {
    "ring": networkx.cycle_graph,
    "star": lambda size: networkx.star_graph(size - 1),
    "path": networkx.path_graph,
    "clique": networkx.complete_graph,
}


def network(graph: Any) -> networkx.Graph:
    x, edges = graph[0], graph[1]
    found = networkx.Graph()
    found.add_nodes_from((node, {"colour": colour}) for node, colour in enumerate(x.flatten().tolist()))
    found.add_edges_from(edges.T.tolist())
    return found


def told(graph: Any) -> tuple[set[str], int]:
    """Read the parts of a graph, and how many edges tie them."""
    whole, parts = network(graph), set()
    colours = networkx.get_node_attributes(whole, "colour")
    for colour in set(colours.values()):
        part = whole.subgraph(node for node, own in colours.items() if own == colour)
        (shape,) = (name for name, make in MAKE.items() if networkx.is_isomorphic(part, make(len(part))))
        parts.add(f"a {COLOURS[colour]} {shape} of {NUMBERS[len(part)]}")
    return parts, sum(colours[one] != colours[other] for one, other in whole.edges)


def test_a_description_tells_the_shapes_sizes_colours_and_ties_of_the_graph() -> None:
    for each in draw_graphs(60, 0):
        parts, ties = told(each.graph)
        assert set(each.text.replace(" tied to ", "|").replace(" beside ", "|").split("|")) == parts
        assert each.text.count("tied to") == ties


def test_every_edge_goes_both_ways() -> None:
    for each in draw_graphs(20, 1):
        edges = {tuple(edge) for edge in each.graph.edge_index.T.tolist()}
        assert edges == {edge[::-1] for edge in edges}


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("size", NUMBERS)
def test_shapes_of_a_size_differ(shape: int, size: int) -> None:
    graph = graph_of([Part(shape, size, 0)], [], random.Random(0))
    matching = [name for name, make in MAKE.items() if networkx.is_isomorphic(network(graph), make(size))]
    assert matching == [SHAPES[shape]]


def test_a_seed_draws_the_same_graphs_and_no_description_twice() -> None:
    some, again, others = draw_graphs(200, 0), draw_graphs(200, 0), draw_graphs(200, 1)
    assert [each.text for each in some] == [each.text for each in again]
    assert all(torch.equal(one.graph.edge_index, two.graph.edge_index) for one, two in zip(some, again, strict=True))
    assert [each.text for each in some] != [each.text for each in others]
    assert len({each.text for each in some}) == 200


def test_shapes_colours_and_numbers_are_about_as_frequent() -> None:
    words = Counter(word for each in draw_graphs(2000, 0) for word in each.text.split())
    for kinds in (SHAPES, COLOURS, NUMBERS.values()):
        counts = [words[word] for word in kinds]
        assert max(counts) < 1.2 * min(counts)


def test_nodes_are_in_no_order() -> None:
    colours = [each.graph.x.flatten() for each in draw_graphs(50, 0) if "beside" in each.text]
    assert any((each[1:] != each[:-1]).sum() > 3 for each in colours)


def test_parts_are_named_in_their_order() -> None:
    parts = [Part(0, 5, 0), Part(1, 6, 2)]
    assert describe(parts, [True]) == "a red ring of five tied to a blue star of six"
