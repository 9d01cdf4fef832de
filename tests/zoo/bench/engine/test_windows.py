"""The benchmark cases of attention in a window."""

from typing import Any

import pytest
import torch

from zoo.bench.engine import windows
from zoo.bench.engine.windows import by_kernel, near, vectors, windowed
from zoo.core import attend
from zoo.core.patterns.pattern import Pattern

pytestmark = pytest.mark.usefixtures("float64")


def test_the_window_and_the_kernel_with_its_mask_give_the_same() -> None:
    q, k, v = vectors(70, step=False)
    torch.testing.assert_close(windowed(q, k, v), by_kernel(q, k, v, near(70)))


@pytest.mark.parametrize("step", [False, True])
def test_both_jobs_run_and_compute_gradients_only_if_asked(step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def watched(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pattern: Pattern, backend: str) -> torch.Tensor:
        y = attend(q, k, v, pattern, backend=backend)
        seen.append(y.requires_grad)
        return y

    monkeypatch.setattr(windows, "attend", watched)
    for job in (*windows.beside_full(40, step), *windows.doubled(20, step)):
        job()
    assert seen == [step] * 3


def test_the_bias_of_the_window_and_its_dense_form_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[torch.Tensor] = []

    def noted(function: Any, tensors: list[torch.Tensor], step: bool, *more: torch.Tensor) -> object:
        answers.append(function(*tensors))
        return print

    monkeypatch.setattr(windows, "job", noted)
    windows.beside_dense_transformer_xl(400)
    torch.testing.assert_close(*answers)
