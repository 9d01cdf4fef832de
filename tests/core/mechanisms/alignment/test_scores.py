"""Each score is its formula, arXiv:1508.04025 eq. 8, arXiv:1409.0473 app. A.1.2."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from zoo.core import BilinearScore, ConcatScore, ConfigError, DotScore, InputError, LocationScore
from zoo.core.mechanisms.alignment.scores import AlignmentScore

Q, S = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
PLACES = torch.arange(5).expand(2, -1)
GENERAL, CONCAT, LOCATION = BilinearScore(4), ConcatScore(4), LocationScore(4, 7)
torch.nn.init.normal_(GENERAL.general.w)


@pytest.mark.parametrize(
    ("score", "formula"),
    [
        (DotScore(), lambda h, s, j: h @ s),
        (GENERAL, lambda h, s, j: h @ GENERAL.general.w[0] @ s),
        (
            CONCAT,
            lambda h, s, j: (
                CONCAT.additive.v[0]
                @ (torch.cat([CONCAT.additive.w1[0], CONCAT.additive.w2[0]], 1) @ torch.cat([h, s])).tanh()
            ),
        ),
        (LOCATION, lambda h, s, j: LOCATION.linear.weight[j] @ h),
    ],
)
@torch.no_grad()
def test_a_score_is_its_formula(score: AlignmentScore, formula: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    found = score(Q, score.keys(S), PLACES)
    expected = [[[formula(h, s, j) for j, s in enumerate(row)] for h in rows] for rows, row in zip(Q, S, strict=True)]
    torch.testing.assert_close(found, torch.tensor(expected))


@torch.no_grad()
def test_concat_is_the_engines_additive_score() -> None:
    expected = CONCAT.additive().scores(Q[:, None], S[:, None])[:, 0]
    torch.testing.assert_close(CONCAT(Q, CONCAT.keys(S), PLACES), expected)


@torch.no_grad()
def test_location_counts_places_that_are_there_and_not_what_stands_there() -> None:
    shifted = torch.tensor([[-1, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
    found = LOCATION(Q, S, shifted)
    torch.testing.assert_close(found[0, :, [1, 3, 4]], LOCATION(Q, S * 7, PLACES)[0, :, :3])


def test_location_refuses_a_source_beyond_its_places() -> None:
    with pytest.raises(InputError, match=r"a source of 5 tokens for score='location:4', .*location:5"):
        LocationScore(4, 4)(Q, S, PLACES)
    with pytest.raises(ConfigError, match="location:0"):
        LocationScore(4, 0)
