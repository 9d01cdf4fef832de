"""`Graph` and `GraphStructure`: edges with features, worked out once."""

import gc

import pytest
import torch
from torch import Tensor

from zoo.core import InputError, Segments, Tokens, attend
from zoo.core.layers.attention import Attention
from zoo.core.patterns.edges import Edges
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.structure.graph_pattern import Graph, GraphStructure, graph_structure

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 1, 3, 4, 2], [1, 2, 4, 3, 2]])
BATCH = torch.tensor([0, 0, 0, 1, 1])
X = torch.randn(5, 2)


def draw(index: Tensor = INDEX, batch: Tensor | None = BATCH, **rules: str) -> GraphStructure:
    return graph_structure(GraphInputs(X, index, None, batch), EdgeRules(**rules))  # type: ignore[arg-type]


def test_the_same_tensors_are_looked_at_once() -> None:
    index, batch = INDEX.clone(), BATCH.clone()
    first = draw(index, batch)
    assert draw(index, batch) is first
    assert draw(index, batch, direction="both") is not first
    assert draw(index, None) is not first
    assert draw(index, batch.clone()) is not first
    assert draw(index.clone(), batch) is not first


def test_what_was_drawn_goes_with_the_edges() -> None:
    import weakref

    index, batch = INDEX.clone(), BATCH.clone()
    found = weakref.ref(draw(index, batch))
    del index
    gc.collect()
    assert found() is None, "it is still held"


def test_a_graph_with_features_shares_what_is_worked_out() -> None:
    graphs = draw()
    one, other = graphs.carrying(torch.randn(5, 1)), graphs.carrying(torch.randn(5, 1))
    assert one.csr(5, 5, 0, 2) is other.csr(5, 5, 0, 2)
    assert one.features is not other.features
    more = torch.tensor([[0], [0]])
    assert one.extended("loop", lambda: more, None).csr(5, 5, 0, 2) is (
        other.extended("loop", lambda: more, None).csr(5, 5, 0, 2)
    )


def test_features_follow_the_edges_that_are_read() -> None:
    features = torch.arange(5.0)[:, None]
    assert draw(self_loops="remove").carrying(features).features.flatten().tolist() == [0, 1, 2, 3]
    both = draw(direction="both").carrying(features)
    assert both.features is not None
    values = {
        tuple(edge): value for edge, value in zip(both.index.T.tolist(), both.features[:, 0].tolist(), strict=True)
    }
    assert values == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1, (3, 4): 2, (4, 3): 3, (2, 2): 4}


def test_self_loops_that_are_added_stand_behind_the_features() -> None:
    graph = draw(self_loops="add").carrying(torch.randn(5, 3))
    assert graph.features is not None
    assert len(graph.features) == 5
    assert graph.index[:, 5:].tolist() == [[0, 1, 3, 4]] * 2


def test_several_graphs_need_no_second_look_at_who_is_in_which() -> None:
    graph = draw().graph
    assert graph.keeps(graph.sets)
    assert not graph.keeps(None)
    assert not graph.keeps(Segments(BATCH[None]))
    assert (Edges(INDEX) & graph).keeps(graph.sets)
    assert not (Edges(INDEX) | graph).keeps(graph.sets)


def test_attention_reads_the_same_with_sets_and_without() -> None:
    graph = draw().graph
    q, k, v = torch.randn(3, 1, 5, 2, 4).unbind()
    looked_at = attend(q, k, v, Edges(graph.index), graph.sets)
    torch.testing.assert_close(attend(q, k, v, graph, graph.sets), looked_at)


def test_isolated_nodes_read_exactly_nothing() -> None:
    graph = Graph.of(Edges(INDEX[:, :2]), None, None)
    q, k, v = torch.randn(3, 1, 5, 2, 4).unbind()
    y = attend(q, k, v, graph)
    assert not y[0, [0, 3, 4]].any()
    assert y[0, [1, 2]].all()
    layer = Attention(8, 2, bias=False)
    assert not layer(Tokens(torch.randn(1, 5, 8), graph))[0, [0, 3, 4]].any()


def test_edges_between_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="from graph 0 to graph 1"):
        draw(torch.tensor([[0, 2], [1, 3]]))
    with pytest.raises(InputError, match="there are 5 nodes, 0 … 4"):
        draw(torch.tensor([[0, 5], [1, 3]]))


def test_graphs_are_counted_by_their_highest_number() -> None:
    assert draw(batch=torch.tensor([0, 0, 0, 2, 2])).graphs == 3
    assert draw(batch=None).graphs == 1
    nothing = graph_structure(GraphInputs(X[:0], INDEX[:, :0], None, BATCH[:0]), EdgeRules())
    assert nothing.graphs == 0
    assert nothing.graph.sets is not None
    assert nothing.graph.sets.sets == 0
