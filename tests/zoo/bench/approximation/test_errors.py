"""Errors of approximations, in the cases where they are known."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.bench.approximation.errors import MECHANISMS, errors, low_rank, reformer, window
from zoo.errors import ConfigError


def measured(
    mechanism: str, sizes: list[int], *, scale: float = 0.5, seed: int = 0, length: int = 32
) -> dict[str, Any]:
    config = {"mechanism": mechanism, "sizes": sizes, "scale": scale, "seed": seed, "length": length, "head_dim": 8}
    return errors(config)


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    q, k = (torch.randn(32, 8, dtype=torch.float64) for _ in range(2))
    return q, k, (q @ k.mT * 8**-0.5).softmax(-1)


@pytest.mark.parametrize("mechanism", ["nystrom", "low-rank"])
def test_as_many_landmarks_or_ranks_as_tokens_leave_no_error(mechanism: str) -> None:
    found = measured(mechanism, [4, 32])
    assert found["weights"][32] < 1e-6 < found["weights"][4]
    assert found["output"][32] < 1e-6 < found["output"][4]


def test_a_window_over_all_is_exact_and_a_narrow_one_is_not() -> None:
    q, k, exact = drawn()
    torch.testing.assert_close(window(q, k, exact, 64)[0], exact)
    near = window(q, k, exact, 4)[0]
    torch.testing.assert_close(near.sum(1), torch.ones(32, dtype=torch.float64))
    assert (near > 0).sum(1).max() == 5


def test_no_matrix_of_its_rank_is_nearer_than_the_low_rank_one() -> None:
    q, k, exact = drawn()
    near = low_rank(q, k, exact, 5)[0]
    assert torch.linalg.matrix_rank(near, rtol=1e-9) == 5
    values = torch.linalg.svdvals(exact)
    torch.testing.assert_close((near - exact).norm(), values[5:].norm())


def test_hashing_is_held_against_the_softmax_of_its_own_queries() -> None:
    q, k, exact = drawn()
    near, goal = reformer(q, k, exact, 32)
    torch.testing.assert_close(goal.sum(1), torch.ones(32, dtype=torch.float64))
    assert not torch.allclose(goal, exact)
    assert float((near - goal).abs().sum()) > 0


def test_more_features_and_smaller_scores_are_nearer() -> None:
    def mean(size: int, scale: float) -> float:
        return sum(measured("performer", [size], scale=scale, seed=seed)["weights"][size] for seed in range(4)) / 4

    assert mean(1024, 0.25) < 0.5 * mean(16, 0.25)
    assert mean(64, 0.25) < 0.5 * mean(64, 2.0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_seed_gives_the_same_numbers_and_another_gives_others(mechanism: str) -> None:
    assert measured(mechanism, [32]) == measured(mechanism, [32])
    if mechanism not in ("nystrom", "low-rank"):
        assert measured(mechanism, [32]) != measured(mechanism, [32], seed=1)


@pytest.mark.parametrize("mechanism", ["performer", "reformer", "linformer"])
def test_a_size_has_the_same_error_whichever_others_are_asked_for(mechanism: str) -> None:
    assert measured(mechanism, [32])["weights"][32] == measured(mechanism, [16, 32])["weights"][32]


def test_sizes_that_a_mechanism_cannot_have_are_left_out() -> None:
    assert list(measured("nystrom", [8, 64])["weights"]) == [8]
    assert list(measured("reformer", [8, 32])["weights"]) == [32]
    assert list(measured("performer", [8, 64])["weights"]) == [8, 64]


def test_scores_spread_as_asked() -> None:
    torch.manual_seed(0)
    for scale in (0.25, 4.0):
        q, k = (torch.randn(512, 16) * scale**0.5 for _ in range(2))
        assert float((q @ k.mT / 4).std()) == pytest.approx(scale, rel=0.1)


def test_an_unknown_mechanism_is_refused() -> None:
    from zoo.bench.approximation.errors import check

    with pytest.raises(ConfigError, match=r"--mechanisms performr: there are performer"):
        check("performr")
