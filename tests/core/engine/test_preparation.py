"""Preparation: what is folded into other arguments gives the same answer, and preparing twice changes nothing."""

import torch

from zoo.core import Edges, General
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.preparation import prepare
from zoo.core.patterns.sparse import Globals
from zoo.core.scoring.bias import Dense
from zoo.core.scoring.edge_bias import EdgeBias

q, k, v = torch.randn(3, 2, 5, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).unbind(0)
GRAPH = Edges(torch.tensor([[0, 1, 1], [1, 2, 2]]), duplicates="each")


def test_nothing_to_fold_gives_the_arguments_themselves() -> None:
    given = Arguments(q, k, v, bias=Dense(torch.zeros(1, 1, 5, 5, dtype=torch.float64)))
    assert prepare(given) is given


def test_a_bilinear_score_becomes_a_product_with_other_queries() -> None:
    w = torch.randn(2, 4, 4, dtype=torch.float64)
    ready = prepare(Arguments(q, k, v, score=General(w)))
    assert ready.score == "dot"
    torch.testing.assert_close(ready.q, torch.einsum("bqhd,hde->bqhe", q, w))


def test_a_dense_bias_takes_the_precision_of_the_queries() -> None:
    bias = prepare(Arguments(q, k, v, bias=Dense(torch.zeros(1, 1, 5, 5)))).bias
    assert isinstance(bias, Dense)
    assert bias.added.dtype == torch.float64


def test_an_edge_that_counts_twice_becomes_a_bias() -> None:
    assert isinstance(prepare(Arguments(q, k, v, GRAPH)).bias, EdgeBias)


def test_a_graph_joined_with_global_positions_becomes_one_graph() -> None:
    ready = prepare(Arguments(q, k, v, GRAPH | Globals((0,))))
    assert isinstance(ready.pattern, Edges)
    assert prepare(ready) is ready
