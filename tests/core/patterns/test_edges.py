"""`Edges` and `EdgeBias`: what a graph allows, what it refuses, and what its edges add."""

import pytest
import torch
from torch import Tensor

from zoo.core import ConfigError, InputError, attend
from zoo.core.patterns.edge_index import EdgeIndex
from zoo.core.patterns.edge_types import EdgeKinds
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.pattern import BoundingBand
from zoo.core.scoring.bias import Dense
from zoo.core.scoring.edge_bias import EdgeBias, for_pattern

pytestmark = pytest.mark.usefixtures("float64")

TRIANGLE = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 2]])
TWICE = torch.tensor([[0, 1, 0], [1, 2, 1]])


def by_loop(index: Tensor, queries: int, keys: int) -> Tensor:
    mask = torch.zeros(queries, keys, dtype=torch.bool)
    for source, target in index.T.tolist():
        if target < queries and source < keys:
            mask[target, source] = True
    return mask


def random_graph(queries: int, keys: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    index = (torch.rand(queries, keys, generator=generator) < 0.4).nonzero().flip(1).T
    return index[:, torch.randperm(index.shape[1], generator=generator)]


@pytest.mark.parametrize("seed", range(5))
def test_the_mask_holds_an_edge_from_key_to_query(seed: int) -> None:
    index = random_graph(4, 6, seed)
    mask = Edges(index).mask(torch.arange(7)[None], torch.arange(8))  # wider than the graph
    torch.testing.assert_close(mask, by_loop(index, 7, 8)[None, None])


@pytest.mark.parametrize("seed", range(5))
def test_single_pairs_are_answered_as_in_the_mask(seed: int) -> None:
    index = random_graph(4, 6, seed)
    allowed = Edges(index).allows(torch.arange(7)[:, None], torch.arange(8))
    torch.testing.assert_close(allowed, by_loop(index, 7, 8))


def test_a_mask_follows_the_positions_of_each_row() -> None:
    index = random_graph(6, 6, 0)
    queries, keys = torch.tensor([[1, 2], [4, 5]]), torch.tensor([[0, 3, 5], [2, 1, 9]])
    rows = [Edges(index).allows(i[:, None], j) for i, j in zip(queries, keys, strict=True)]
    torch.testing.assert_close(Edges(index).mask(queries, keys), torch.stack(rows)[:, None])


def test_edges_are_listed_by_query_then_key() -> None:
    assert Edges(TRIANGLE).edges(3, 3).tolist() == [[2, 0, 1, 2], [0, 1, 2, 2]]


@pytest.mark.parametrize("start", [0, 1, 2])
def test_pairs_count_the_mask(start: int) -> None:
    graph = Edges(random_graph(6, 6, 1))
    mask = graph.mask(torch.arange(start, start + 4)[None], torch.arange(5))
    assert graph.pairs(4, 5, start) == int(mask.sum())


def test_a_graph_without_edges_allows_nothing() -> None:
    graph = Edges(torch.zeros(2, 0, dtype=torch.long))
    assert not graph.mask(torch.arange(3)[None], torch.arange(2)).any()
    assert graph.pairs(3, 2) == 0
    graph.fit(0, 0)


def test_an_edge_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"edge 2 is \(0, 1\) again, one of 1 .* say duplicates='once' or 'each'"):
        Edges(TWICE)


def test_merged_edges_are_listed_once_and_others_each() -> None:
    assert Edges(TWICE, "once").edges(3, 3).tolist() == [[0, 1], [1, 2]]
    assert Edges(TWICE, "each").edges(3, 3).tolist() == [[0, 0, 1], [1, 1, 2]]


def test_only_edges_that_count_each_need_more_than_a_mask() -> None:
    assert Edges(TWICE, "each").repeated
    assert not Edges(TWICE, "once").repeated
    assert not Edges(TRIANGLE, "each").repeated


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (torch.zeros(3, 4, dtype=torch.long), r"integers \(2, edges\); got \(3, 4\) of torch.int64"),
        (torch.tensor([[0, 1], [1, -2]]), r"edge 1 is \(1, -2\): nodes are not negative"),
    ],
)
def test_what_is_no_graph_is_refused(index: Tensor, text: str) -> None:
    with pytest.raises(InputError, match=text):
        EdgeIndex.check(_with(index=index))


def test_an_unknown_choice_for_duplicates_is_refused() -> None:
    with pytest.raises(ConfigError, match="duplicates='twice' is not one of error, once, each"):
        EdgeIndex.check(_with(duplicates="twice"))


def _with(**change: object) -> EdgeIndex:
    """Make a graph past the type check of the tests, to ask what users without it are told."""
    edges = Edges(TRIANGLE).listing
    edges.__dict__.update(change)
    return edges


@pytest.mark.parametrize("backend", ["auto", "edges", "reference"])
def test_edges_outside_the_vectors_are_refused(backend: str) -> None:
    q, k = torch.randn(1, 2, 1, 4), torch.randn(1, 3, 1, 4)
    with pytest.raises(InputError, match="an edge leads to query 2, and there are 2, from 0 on"):
        attend(q, k, k, Edges(TRIANGLE), backend=backend)
    with pytest.raises(InputError, match="an edge comes from key 2, and there are 2, from 0 on"):
        attend(k, q, q, Edges(TRIANGLE), backend=backend)


def test_a_later_part_of_the_queries_answers_for_its_edges_only() -> None:
    Edges(TRIANGLE).fit(1, 1, start=1)
    with pytest.raises(InputError, match="an edge comes from key 2, and there are 2"):
        Edges(TRIANGLE).fit(1, 2, start=2)


def test_it_knows_how_far_it_reads_ahead() -> None:
    assert Edges(TRIANGLE).cover() == BoundingBand(None, 2)
    assert Edges(torch.tensor([[0, 1, 1], [1, 1, 3]])).cover() == BoundingBand(None, 0)
    assert Edges(torch.zeros(2, 0, dtype=torch.long)).cover() == BoundingBand(None, 0)


@pytest.mark.parametrize("backend", ["edges", "scatter", "dense", "reference"])
@pytest.mark.parametrize("start", [0, 1])
def test_of_a_part_what_is_not_there_is_not_read(backend: str, start: int) -> None:
    q, k = torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4)
    edges = TRIANGLE[:, (TRIANGLE[0] < 2) & (TRIANGLE[1] < 2 + start)]
    y = attend(q, k, k, Edges(TRIANGLE), q_start=start, backend=backend, whole=False)
    torch.testing.assert_close(y, attend(q, k, k, Edges(edges), q_start=start, backend="reference"))


def test_it_is_shown_by_its_counts() -> None:
    assert repr(Edges(TRIANGLE)) == "Edges(4 edges, duplicates='error')"
    assert repr(Edges(TWICE, "once")) == "Edges(3 edges, 1 of them again, duplicates='once')"


def test_it_is_prepared_once_for_all_layers() -> None:
    graph = Edges(TRIANGLE)
    assert graph.csr(3, 3, 0, 2) is graph.csr(3, 3, 0, 2)
    assert graph.to("cpu") is graph
    assert graph.to("meta") is graph.to("meta")


def test_few_prepared_forms_are_kept() -> None:
    graph = Edges(TRIANGLE)
    for heads in range(1, 30):
        graph.csr(3, 3, 0, heads)
    assert len(graph.listing.matrices) <= 8


def test_a_bias_stands_where_its_edge_is() -> None:
    added = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    q, place = torch.zeros(1, 1, 3, 2), torch.arange(3)[None]
    scores = EdgeBias(Edges(TRIANGLE), added).scores(q, place, place, 1.0)
    assert scores[0, 0].tolist() == [[0, 0, 3], [1, 0, 0], [0, 2, 4]]


def test_edges_that_count_each_share_a_pair() -> None:
    place = torch.arange(3)[None]
    scores = EdgeBias(Edges(TWICE, "each")).scores(torch.zeros(1, 1, 3, 2), place, place, 1.0)
    torch.testing.assert_close(scores[0, 0, 1, 0], torch.tensor(2.0).log())
    assert scores.count_nonzero() == 1


def test_a_graph_that_counts_pairs_twice_gives_itself_a_bias() -> None:
    graph = Edges(TWICE, "each")
    assert isinstance(for_pattern(graph, None), EdgeBias)
    assert for_pattern(Edges(TWICE, "once"), None) is None
    with pytest.raises(ConfigError, match="only an EdgeBias can join, not dense"):
        for_pattern(graph, Dense(torch.zeros(1, 1, 3, 3)))


def test_a_graph_with_more_edges_adds_nothing_to_them() -> None:
    kinds = EdgeKinds(torch.tensor([1, 0, 1, 1]), 2)
    added = torch.tensor([[5.0], [7.0]])
    more = Edges(torch.cat([TRIANGLE, torch.tensor([[0], [0]])], 1))
    found = EdgeBias(Edges(TRIANGLE), added, kinds=kinds).onto(more)
    assert found.edges is more
    assert found.by_edge().added is not None
    torch.testing.assert_close(found.by_edge().added, torch.tensor([[7.0], [5.0], [7.0], [7.0], [0.0]]))
    own = EdgeBias(Edges(TRIANGLE), added[kinds.of])
    torch.testing.assert_close(own.onto(more).added, found.by_edge().added)
    assert own.by_edge() is own


def test_kinds_that_do_not_fit_the_edges_are_refused() -> None:
    kinds = EdgeKinds(torch.zeros(3, dtype=torch.long), 2)
    with pytest.raises(InputError, match="the kinds of 3 edges for 4"):
        EdgeBias(Edges(TRIANGLE), torch.zeros(2, 1), kinds=kinds)
    kinds = EdgeKinds(torch.zeros(4, dtype=torch.long), 2)
    with pytest.raises(InputError, match=r"added of \(4, 1\) for 2 kinds: it is \(kinds, heads\)"):
        EdgeBias(Edges(TRIANGLE), torch.zeros(4, 1), kinds=kinds)


def test_a_bias_that_does_not_fit_the_edges_is_refused() -> None:
    with pytest.raises(InputError, match=r"to_keys of \(3, 1, 2\) for 4 edges: it is \(edges, heads, channels\)"):
        EdgeBias(Edges(TRIANGLE), to_keys=torch.zeros(3, 1, 2))
    with pytest.raises(InputError, match="merges equal edges: an EdgeBias does not know which"):
        EdgeBias(Edges(TWICE, "once"), torch.zeros(3, 1))
