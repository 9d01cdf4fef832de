"""Memory of tensors, and of a process."""

from functools import partial

import pytest
import torch

from zoo.bench.speed.memory import peak_bytes, resident_bytes


@pytest.mark.slow
def test_a_process_holds_what_its_function_takes() -> None:
    few, many = (resident_bytes(partial(torch.ones, millions * 10**6)) for millions in (1, 51))
    assert 190e6 < many - few < 220e6


def test_a_peak_is_what_was_held_at_once() -> None:
    x = torch.zeros(1000)
    assert 8000 <= peak_bytes(lambda: (x + 1) + 1) < 8100  # the first sum and the second, and the ones
    assert peak_bytes(lambda: [torch.zeros(1000).sum() for _ in range(3)]) < 5000


def test_a_job_of_the_cpu_is_measured_there_whether_or_not_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert peak_bytes(lambda: torch.zeros(1000)) >= 4000


@pytest.mark.gpu
def test_a_job_of_a_gpu_is_measured_there() -> None:
    assert peak_bytes(lambda: torch.zeros(10**6, device="cuda"), "cuda") == pytest.approx(4e6, rel=0.01)
