"""FAVOR+ estimates the softmax kernel without bias, with the variances of its paper, and looks at no later key."""

import pytest
import torch
from torch import Tensor

from zoo.core.mechanisms.efficient.random_features import (
    CHUNK,
    NOTHING,
    orthogonal_rows,
    positive_features,
    running_sums,
)


def pair(d: int = 8, size: float = 0.5) -> tuple[Tensor, Tensor]:
    x, y = torch.randn(2, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x / x.norm() * size, y / y.norm() * size


def estimates(x: Tensor, y: Tensor, directions: Tensor) -> Tensor:
    """Give phi(x)·phi(y) for each feature."""
    (a, one), (b, other) = (positive_features(each[None], directions) for each in (x, y))
    return (a * b)[0] * (one + other).exp()


def test_a_feature_is_unbiased_and_has_the_variances_of_lemma_2() -> None:
    torch.manual_seed(0)
    x, y = pair()
    w, kernel = torch.randn(200_000, 8, dtype=torch.float64), (x @ y).exp()
    total, difference = (x + y).square().sum().exp(), (x - y).square().sum()
    positive = estimates(x, y, w)
    hyperbolic = (positive + estimates(x, y, -w)) / 2
    trigonometric = ((x.square() + y.square()).sum() / 2).exp() * (w @ (x - y)).cos()
    of_positive = total * kernel**2 * (1 - 1 / total)
    formulas = {
        "positive": (positive, of_positive),
        "hyperbolic": (hyperbolic, (1 - 1 / total) / 2 * of_positive),
        "trigonometric": (trigonometric, total / kernel**2 * (1 - (-difference).exp()) ** 2 / 2),
    }
    for name, (estimate, variance) in formulas.items():
        assert abs(estimate.mean() - kernel) < 5 * (variance / len(w)) ** 0.5, name
        assert 0.9 < estimate.var() / variance < 1.1, name


def test_orthogonal_directions_are_orthogonal_of_normal_length_and_err_less() -> None:
    torch.manual_seed(0)
    rows = orthogonal_rows(20, 8).double()
    block = rows[:8] @ rows[:8].mT
    torch.testing.assert_close(block, block.diagonal().diag(), atol=1e-5, rtol=0)
    many = orthogonal_rows(4000, 8).double()
    assert abs(many.square().sum(1).mean() - 8) < 0.3
    x, y = pair()
    kernel, m = (x @ y).exp(), 8
    drawn = orthogonal_rows(50_000 * m, m).double(), torch.randn(50_000 * m, m).double()
    orthogonal, independent = (estimates(x, y, rows).unflatten(0, (-1, m)).mean(1) for rows in drawn)
    assert abs(orthogonal.mean() - kernel) < 5 * orthogonal.std() / 50_000**0.5  # published code is biased here
    error, free = ((each - kernel).square().mean() for each in (orthogonal, independent))
    gain = 2 * (m - 1) / (m * (m + 2)) * (kernel - (-(x.square() + y.square()).sum() / 2).exp()) ** 2  # theorem 2
    assert error <= (free - gain) * 1.1
    assert error < free


@pytest.mark.parametrize("n", [1, CHUNK, 2 * CHUNK + 3])
def test_running_sums_are_the_sum_over_the_pairs(n: int) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.rand(1, 2, n, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    v, scale = (torch.randn(1, 2, n, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    scale = scale[..., 0] * 20
    empty = torch.zeros(1, 2, 5, 3, dtype=torch.float64), torch.full((1, 2, 1), NOTHING, dtype=torch.float64)
    y, sums, peak = running_sums(q, k, scale, v, *empty)
    weights = (q @ k.mT * scale.exp()[..., None, :]).tril()
    torch.testing.assert_close(y * scale.cummax(-1).values.exp()[..., None], weights @ v)
    torch.testing.assert_close(sums * peak.exp()[..., None], (k * scale.exp()[..., None]).mT @ v)
    cut = n // 2 + 1
    one, two = ((q[:, :, at], k[:, :, at], scale[:, :, at], v[:, :, at]) for at in (slice(cut), slice(cut, None)))
    first, *kept = running_sums(*one, *empty)
    torch.testing.assert_close(first, y[:, :, :cut])
    if n > 1:
        rest, *ended = running_sums(*two, kept[0], kept[1])
        torch.testing.assert_close(rest, y[:, :, cut:])
        torch.testing.assert_close(ended, [sums, peak])


def test_a_feature_far_below_the_greatest_still_counts() -> None:
    directions = torch.eye(2, dtype=torch.float64)
    features, _ = positive_features(torch.tensor([[0.0, -30.0]], dtype=torch.float64), directions)
    torch.testing.assert_close(features, torch.tensor([[0.0, -30.0]], dtype=torch.float64).exp(), rtol=1e-9, atol=0)
