"""Hard attention of recurrent decoders: what is read, with what probability, and when nothing is drawn."""

from typing import Any

import pytest
import torch

from zoo.core import Alignment, DotScore, HardAlignment, Predictive, record_alignments
from zoo.core.mechanisms.alignment.alignment import Memory

generator = torch.Generator().manual_seed(0)
Q = torch.randn(1, 1, 4, generator=generator, dtype=torch.float64).expand(4000, 1, 4)
S = torch.randn(1, 3, 4, generator=generator, dtype=torch.float64).expand(4000, 3, 4)
STEPS = torch.zeros(1, 1, dtype=torch.long)


def drawn(window: Any = None, soft: bool = False) -> tuple[torch.Tensor, Any]:
    torch.manual_seed(0)
    layer = HardAlignment(DotScore(), window).double().train()
    with record_alignments(layer, torch.full((4000,), soft)) as seen:
        return layer(Q, Memory(S, S), STEPS), seen


def test_one_vector_is_read_as_often_as_its_weight_says() -> None:
    chosen, seen = drawn()
    weights = Alignment(DotScore())(Q, Memory(S, S), STEPS)
    assert chosen.sum(-1).unique().tolist() == [1]
    torch.testing.assert_close(chosen.mean(0), weights[0], atol=0.03, rtol=0)
    torch.testing.assert_close(seen.log_probabilities[0], (chosen * weights.log()).sum(-1))
    torch.testing.assert_close(seen.entropies[0], -(weights * weights.log()).sum(-1))


def test_what_a_gaussian_takes_away_is_normed_again_before_a_draw() -> None:
    chosen, seen = drawn(Predictive(4, 1))
    log = seen.log_probabilities[0].exp()
    total = sum(log[chosen[:, 0, key] == 1].unique().sum() for key in range(3))
    torch.testing.assert_close(total, torch.ones((), dtype=torch.float64))


def test_soft_rows_read_the_weights_and_choose_nothing() -> None:
    read, seen = drawn(soft=True)
    torch.testing.assert_close(read, Alignment(DotScore())(Q, Memory(S, S), STEPS))
    assert not seen.log_probabilities[0].any()


@pytest.mark.parametrize("training", [True, False])
@torch.no_grad()
def test_without_gradients_the_best_is_read(training: bool) -> None:
    layer = HardAlignment(DotScore()).train(training)
    weights = Alignment(DotScore())(Q, Memory(S, S), STEPS)
    assert torch.equal(layer(Q, Memory(S, S), STEPS).argmax(-1), weights.argmax(-1))


def test_a_source_of_nothing_is_not_drawn_from() -> None:
    layer = HardAlignment(DotScore()).double().train()
    valid = torch.zeros(4000, 3, dtype=torch.bool)
    with record_alignments(layer, torch.zeros(4000, dtype=torch.bool)) as seen:
        assert not layer(Q, Memory(S, S, valid), STEPS).any()
    assert not seen.log_probabilities[0].any()
    assert not seen.entropies[0].any()
