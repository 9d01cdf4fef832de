"""Weights of an alignment: a softmax over the source, of each state by itself."""

import pytest
import torch

from zoo.core import Alignment, AlignmentScore, BilinearScore, DotScore, Predictive
from zoo.core.mechanisms.alignment.alignment import Memory

DRAW = torch.Generator().manual_seed(0)
Q, S = torch.randn(2, 3, 4, generator=DRAW), torch.randn(2, 5, 4, generator=DRAW)
STEPS = torch.arange(3)[None]


def test_each_state_spreads_one_over_the_source() -> None:
    weights = Alignment(DotScore())(Q, Memory(S, S), STEPS)
    torch.testing.assert_close(weights, (Q @ S.mT).softmax(-1))
    alone = Alignment(DotScore())(Q[:, 1:2], Memory(S, S), STEPS[:, 1:2])
    torch.testing.assert_close(weights[:, 1:2], alone)


def test_a_source_of_nothing_has_no_weights_and_no_nan() -> None:
    valid = torch.tensor([[True] * 5, [False] * 5])
    for window in (None, Predictive(4, 2)):
        query = Q.clone().requires_grad_()
        weights = Alignment(DotScore(), window)(query, Memory(S, S, valid), STEPS)
        assert not weights[1].any()
        weights.square().sum().backward()
        assert query.grad is not None
        assert query.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("score", [DotScore(), BilinearScore(4)])
def test_scores_beyond_half_precision_are_weighed(score: AlignmentScore, dtype: torch.dtype) -> None:
    query, source = (Q * 400).to(dtype), (S * 400).to(dtype)
    assert (query.float() @ source.float().mT).abs().max() > torch.finfo(torch.float16).max * 4
    weights = Alignment(score)(query, Memory(source, S.to(dtype)), STEPS)
    assert weights.dtype == dtype
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(2, 3), atol=0.02, rtol=0)


@pytest.mark.parametrize("score", [DotScore(), BilinearScore(4)])
def test_scores_beyond_half_precision_are_weighed_under_autocast(score: AlignmentScore) -> None:
    with torch.autocast("cpu", torch.float16):
        weights = Alignment(score)(Q * 400, Memory(S * 400, S), STEPS)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3), atol=0.02, rtol=0)
