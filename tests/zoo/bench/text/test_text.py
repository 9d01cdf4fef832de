"""`zoo bench speed --suite text`: its works are listed without being built, and both sides do the same."""

from typing import Any

import pytest
import torch

from zoo.bench.speed.suite import works
from zoo.bench.text import training


def test_the_works_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = works("text")
    assert len({work.name for work in found}) == len(found) >= 11
    assert all(0 < work.target <= 1.2 for work in found)


def test_a_training_step_gives_both_sides_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Model(torch.nn.Linear):
        def forward(self, source: Any, there: Any, target: Any) -> Any:  # type: ignore[override]
            seen.append(there)
            return super().forward(torch.ones(*target.shape, 1))

    monkeypatch.setattr(training, "VOCABULARY", 20)
    monkeypatch.setattr(training, "pair", lambda *args, **options: (Model(1, 20), Model(1, 20)))
    for job in training.step(torch.float32):
        job()
    assert seen == [None, None]
