"""Laws of local attention, arXiv:1508.04025 sec. 3.2: its window, its Gaussian, its gradient, its limit."""

import math

import pytest
import torch
from torch import Tensor

from zoo.core import Alignment, AlignmentWindow, BilinearScore, ConfigError, Monotonic, Predictive
from zoo.core.mechanisms.alignment.alignment import Memory

DIM, LENGTH = 4, 7
H, S = torch.randn(2, 3, DIM, dtype=torch.float64), torch.randn(2, LENGTH, DIM, dtype=torch.float64)
STEPS = torch.tensor([[0, 4, 30]])
VALID = torch.ones(2, LENGTH, dtype=torch.bool)
VALID[1, 4:] = False
SCORE = BilinearScore(DIM).double()


def weights(window: AlignmentWindow | None, h: Tensor = H, steps: Tensor = STEPS) -> Tensor:
    memory = Memory(SCORE.keys(S), S, VALID)
    return Alignment(SCORE, window).double()(h, memory, steps)


@pytest.mark.parametrize("window", [Monotonic(LENGTH), Predictive(DIM, LENGTH, math.inf)])
@torch.no_grad()
def test_a_window_over_everything_without_a_gaussian_is_global(window: AlignmentWindow) -> None:
    torch.testing.assert_close(weights(window), weights(None), rtol=0, atol=1e-14)


@torch.no_grad()
def test_local_m_moves_on_with_each_token_and_stops_at_the_end_of_the_source() -> None:
    read = weights(Monotonic(1)) > 0
    assert [row.nonzero()[:, 0].tolist() for row in read[0]] == [[0, 1], [3, 4, 5], [5, 6]]
    assert [row.nonzero()[:, 0].tolist() for row in read[1]] == [[0, 1], [2, 3], [2, 3]]
    torch.testing.assert_close(weights(Monotonic(1)).sum(-1), torch.ones(2, 3, dtype=torch.float64))


@torch.no_grad()
@pytest.mark.parametrize("reach", [2, 3])
def test_local_p_is_its_formula_and_is_not_normed_again(reach: int) -> None:
    window = Predictive(DIM, reach).double()
    found = weights(window)
    for row, length in enumerate([LENGTH, 4]):
        for step, h in enumerate(H[row]):
            p = length * (window.outside.weight[0] @ (window.inside.weight @ h).tanh()).sigmoid().item()
            inside = [s for s in range(length) if abs(s - p) <= reach]
            align = torch.stack([h @ SCORE.general.w[0] @ S[row, s] for s in inside]).softmax(0)
            gauss = torch.tensor(
                [math.exp(-((s - p) ** 2) / (2 * (reach / 2) ** 2)) for s in inside], dtype=torch.float64
            )
            torch.testing.assert_close(found[row, step, inside], align * gauss)
            assert found[row, step].count_nonzero() == len(inside)
    assert (found.sum(-1) < 1).all()


def test_the_place_of_local_p_learns_through_the_gaussian_only() -> None:
    for sigma, learns in ((1.0, True), (math.inf, False)):
        window = Predictive(DIM, 2, sigma).double()
        (weights(window) @ S[:, :, :1]).sum().backward()
        moved = [p.grad is not None and bool(p.grad.any()) for p in window.parameters()]
        assert moved == [learns, learns]


def test_the_deviation_is_half_the_reach_and_nonsense_is_refused() -> None:
    assert Predictive(DIM).reach == 10
    assert Predictive(DIM).sigma == 5
    with pytest.raises(ConfigError, match="a window of 0 places"):
        Monotonic(0)
    with pytest.raises(ConfigError, match=r"sigma=0\.0"):
        Predictive(DIM, 2, 0.0)
