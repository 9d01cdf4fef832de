"""Seeds that are trained at once, tiny."""

from copy import deepcopy
from typing import Any

import pytest
import torch

from zoo.bench.gpu import seeds
from zoo.bench.gpu.models import inputs

TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.mark.usefixtures("float64", "on_device")
def test_seeds_at_once_learn_what_they_learn_one_by_one() -> None:
    parts = seeds.models(3, **TINY)
    (x,) = inputs(seeds.NAME, 6, torch.float64)
    x, target = x.unflatten(0, (3, 2)), torch.arange(6, device=x.device).view(3, 2)
    alone = deepcopy(parts)
    together, apart = seeds.together(parts, x, target), seeds.one_by_one(alone, x, target)
    for _ in range(2):
        together()
        apart()
    for own, other in zip(parts, alone, strict=True):
        for weight, wanted in zip(own.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(weight, wanted, atol=1e-7, rtol=1e-6)


@pytest.mark.usefixtures("on_device")
def test_the_case_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "SEEDS", 2)
    monkeypatch.setattr(seeds, "ROWS", 2)
    for job in seeds.jobs():
        job()
