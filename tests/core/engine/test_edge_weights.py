"""Weights by edge: those of the square of weights, at the place of each edge."""

import pytest
import torch
from torch import Tensor

from zoo.core import Additive, EdgeBias, Edges, General, InputError, LeakySum, Segments, attend, edge_weights
from zoo.core.scoring.scores import Score

INDEX = torch.tensor([[3, 0, 1, 2, 0, 4, 4], [1, 1, 0, 4, 3, 4, 2]])


def draw(d: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 5, 4, d, generator=generator, dtype=torch.float64)
    return q, torch.randn(2, 5, 2, d, generator=generator, dtype=torch.float64)


SCORES: list[str | Score] = [
    "scaled_dot",
    "dot",
    General(torch.eye(3).double().expand(4, 3, 3)),
    Additive(torch.ones(4, 2, 3).double(), torch.ones(4, 2, 3).double(), torch.ones(4, 2).double()),
    LeakySum(torch.linspace(-1, 1, 12).view(4, 3).double()),
]


@pytest.mark.parametrize("score", SCORES, ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_they_are_the_weights_at_the_places_of_the_edges(score: str | Score, packed: bool) -> None:
    q, k = draw()
    keys = Segments(torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 1, -1]])) if packed else None
    square = attend(q, k, k, Edges(INDEX), keys, score=score, return_weights=True)[1]
    wanted = square[:, :, INDEX[1], INDEX[0]].transpose(1, 2)
    torch.testing.assert_close(edge_weights(q, k, Edges(INDEX), keys, score=score), wanted)


def test_equal_edges_share_a_weight_or_the_first_has_it() -> None:
    q, k = draw()
    index = torch.cat([INDEX, INDEX[:, :1]], 1)
    single = edge_weights(q, k, Edges(INDEX))
    once = edge_weights(q, k, Edges(index, "once"))
    torch.testing.assert_close(once[:, :-1], single)
    assert not once[:, -1].any()
    each = edge_weights(q, k, Edges(index, "each"))
    torch.testing.assert_close(each[:, 0], each[:, -1])
    sums = torch.zeros(2, 5, 4, dtype=torch.float64).index_add(1, index[1], each)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_what_edges_add_counts_and_gets_a_gradient() -> None:
    q, k = draw()
    added = torch.zeros(7, 4, dtype=torch.float64, requires_grad=True)
    edges = Edges(INDEX)
    with torch.no_grad():
        added[0] = 100.0
    weights = edge_weights(q, k, edges, bias=EdgeBias(edges, added))
    torch.testing.assert_close(weights[:, 0], torch.ones(2, 4, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(edge_weights(q, k, edges, bias=EdgeBias(edges, added * 0.01))[:, 1].sum(), added)
    assert gradient[:2].all()  # of the two edges that end at node 1
    assert not gradient[2:].any()


def test_what_belongs_to_another_graph_is_refused() -> None:
    q, k = draw()
    other = Edges(INDEX.flip(0))
    with pytest.raises(InputError, match="it is made for another graph"):
        edge_weights(q, k, Edges(INDEX), bias=EdgeBias(other, torch.zeros(7, 1).double()))


def test_an_edge_out_of_range_is_refused() -> None:
    q, k = draw()
    with pytest.raises(InputError, match="an edge leads to query 5"):
        edge_weights(q, k, Edges(torch.tensor([[0], [5]])))
