import random

import networkx
import pytest

import zoo
from zoo.errors import DataError
from zoo.plugins.graph.data import synthetic_graphs
from zoo.plugins.graph.data.synthetic_graphs import (
    QUESTIONS,
    connected,
    given,
    open_synthetic,
    parts_up_to,
    swapped,
    with_triangle,
)

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


def test_a_swap_joins_the_first_end_of_each_edge_to_the_second_of_the_other() -> None:
    graph = networkx.Graph([(0, 1), (2, 3), (0, 3)])
    assert swapped(graph, (1, 0), (2, 3))
    assert set(graph.edges) == {(0, 2), (0, 3), (1, 3)}


def test_a_swap_that_would_join_a_node_to_itself_or_double_an_edge_is_not_done() -> None:
    graph = networkx.Graph([(0, 1), (2, 3), (0, 3)])
    for one, other in [((0, 1), (2, 3)), ((1, 0), (3, 2)), ((0, 1), (3, 0)), ((0, 1), (0, 3)), ((0, 1), (1, 0))]:
        assert not swapped(graph, one, other)
        assert set(graph.edges) == {(0, 1), (2, 3), (0, 3)}


def test_a_swap_changes_edges_keeps_degrees_and_is_else_no_change() -> None:
    done = []
    for seed in range(50):
        generator = random.Random(seed)
        graph = connected(generator, 12)
        one, other = (tuple(generator.sample(generator.choice(sorted(graph.edges)), 2)) for _ in range(2))
        before = graph.copy()
        done.append(swapped(graph, one, other))
        assert (set(map(frozenset, graph.edges)) != set(map(frozenset, before.edges))) == done[-1]
        assert dict(graph.degree) == dict(before.degree)
        assert networkx.number_of_selfloops(graph) == 0
        assert graph.number_of_edges() == before.number_of_edges()
    assert 10 < sum(done) < 50


def test_networkx_draws_the_edges_it_swaps_and_gives_what_some_swap_of_ours_does() -> None:
    graph = networkx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])

    def text(one: networkx.Graph) -> str:
        return str(sorted(sorted(edge) for edge in one.edges))

    ours, ends = set(), [(a, b) for edge in graph.edges for a, b in (edge, edge[::-1])]
    for one in ends:
        for other in ends:
            copy = graph.copy()
            if swapped(copy, one, other):
                ours.add(text(copy))
    theirs = {text(networkx.double_edge_swap(graph.copy(), nswap=1, seed=seed)) for seed in range(60)}
    assert theirs == ours
    assert len(ours) > 1


def test_a_graph_is_given_with_each_edge_in_both_directions_and_no_features() -> None:
    graph = given(networkx.path_graph(3))
    assert graph.x.shape == (3, 0)
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]


def test_each_part_has_as_many_graphs_of_each_class_and_the_same_seed_gives_the_same() -> None:
    corpora = [open_synthetic("components?count=80", SPEC, seed, "") for seed in (0, 0, 1)]
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
        open_synthetic(argument, SPEC, 0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "steps", "seen", "guessed"),
    [("triangle?count=600", 60, 0.85, 0.65), ("connected?count=400", 80, 0.8, 0.6)],
)
def test_answers_are_seen_with_random_walks_and_guessed_without_positions(
    question: str, steps: int, seen: float, guessed: float
) -> None:
    data = synthetic_graphs.open_synthetic(question, SPEC, 0, "")
    scores = {}
    for position in ("random-walk", "none"):
        trained = zoo.train("graph-tiny", data, steps=steps, batch_size=64, position=position)
        scores[position] = trained.scores["accuracy"]
    assert scores["random-walk"] >= seen
    assert scores["none"] <= guessed
