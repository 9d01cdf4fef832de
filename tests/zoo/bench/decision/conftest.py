from collections.abc import Callable

import numpy as np
import pytest

from zoo.bench.decision.bootstrap import Array
from zoo.bench.decision.curve import Curve

SIZES = (100, 300, 1000, 3000, 10000)
Law = Callable[[Array], Array]


@pytest.fixture
def make_curve() -> Callable[..., Curve]:
    """Measure a law with noisy seeds at each size, and bootstrap it as a study does."""

    def make(law: Law, noise: float = 0.0, seed: int = 0, sizes: tuple[int, ...] = SIZES, draws: int = 300) -> Curve:
        rng, count = np.random.default_rng(seed), 5
        runs = law(np.array(sizes, float)) + rng.normal(0, noise or 1e-4, (count, len(sizes)))
        means = runs.mean(0) if noise else law(np.array(sizes, float))
        drawn = np.stack(
            [runs[rng.integers(count, size=(draws, count)), place].mean(1) for place in range(len(sizes))], 1
        )
        return Curve("net", sizes, means, means + (drawn - runs.mean(0)) * (count / (count - 1)) ** 0.5)

    return make
