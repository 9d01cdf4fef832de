import random

import networkx
import pytest

import zoo
from zoo.errors import DataError
from zoo.plugins.graph import drawn
from zoo.plugins.graph.drawn import QUESTIONS, connected, given, open_drawn, parts_up_to, swapped, with_triangle

SPEC = zoo.info("graph-tiny")


def degrees(graph: networkx.Graph) -> list[int]:
    return sorted(dict(graph.degree).values())


@pytest.mark.parametrize("question", QUESTIONS)
def test_graphs_of_a_group_have_the_same_degrees(question: str) -> None:
    labels, draw = QUESTIONS[question]
    for seed in range(5):
        group = draw(random.Random(seed))
        assert len(group) == len(labels)
        assert all(degrees(graph) == degrees(group[0]) for graph in group)


def test_the_second_of_a_pair_has_triangles_and_the_first_none() -> None:
    for seed in range(10):
        counts = [sum(networkx.triangles(graph).values()) for graph in with_triangle(random.Random(seed))]
        assert counts[0] == 0 < counts[1]


def test_the_graphs_of_a_group_have_one_part_two_and_so_on() -> None:
    for seed in range(10):
        group = parts_up_to(4, random.Random(seed))
        assert [networkx.number_connected_components(graph) for graph in group] == [1, 2, 3, 4]


def test_what_is_drawn_as_connected_is_and_all_kinds_occur() -> None:
    graphs = [connected(random.Random(seed), 14) for seed in range(30)]
    assert all(networkx.is_connected(graph) and len(graph) == 14 for graph in graphs)
    assert any(networkx.is_tree(graph) for graph in graphs)
    assert any(degrees(graph) == [2] * 14 for graph in graphs)


def test_a_swap_that_would_join_a_node_to_itself_or_double_an_edge_is_not_done() -> None:
    graph = networkx.Graph([(0, 1), (2, 3), (0, 3)])
    assert not swapped(graph, (0, 1), (2, 3))
    assert not swapped(graph, (0, 1), (3, 0))
    assert swapped(graph, (1, 0), (2, 3)) is False or degrees(graph) == [1, 1, 2, 2]


def test_a_graph_is_given_with_each_edge_in_both_directions_and_no_features() -> None:
    graph = given(networkx.path_graph(3))
    assert graph.x.shape == (3, 0)
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]


def test_each_part_has_as_many_graphs_of_each_class_and_the_same_seed_gives_the_same() -> None:
    corpora = [open_drawn("components?count=80", SPEC, seed, "") for seed in (0, 0, 1)]
    for part in corpora[0].parts.values():
        labels = [int(example.target) for example in part]
        assert [labels.count(label) for label in range(4)] == [len(part) // 4] * 4
    assert corpora[0].fingerprint == corpora[1].fingerprint != corpora[2].fingerprint


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("square", "one of triangle, connected, components"),
        ("triangle?count=2", "count=2 is no whole number from 6 on"),
    ],
)
def test_another_question_or_too_few_graphs_are_refused(argument: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_drawn(argument, SPEC, 0, "")


@pytest.mark.slow
def test_triangles_are_seen_with_random_walks_and_not_without_positions() -> None:
    data = drawn.open_drawn("triangle?count=600", SPEC, 0, "")
    seen = {}
    for position in ("random-walk", "none"):
        trained = zoo.train("graph-tiny", data, steps=60, batch_size=64, position=position)
        seen[position] = trained.scores["accuracy"]
    assert seen["random-walk"] >= 0.85
    assert seen["none"] <= 0.65
