"""The suite `text`, and its case of a training step."""

from typing import Any

import pytest
import torch

from zoo.bench.speed.suite import find_cases
from zoo.plugins.text.bench import training


def test_the_cases_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = find_cases("zoo.plugins.text.bench")
    assert len({case.name for case in found}) == len(found) >= 11
    assert all(0 < case.target <= 1.2 for case in found)


def test_a_training_step_gives_both_sides_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Model(torch.nn.Linear):
        def forward(self, source: Any, valid: Any, target: Any) -> Any:  # type: ignore[override]
            seen.append(valid)
            return super().forward(torch.ones(*target.shape, 1))

    monkeypatch.setattr(training, "VOCABULARY", 20)
    monkeypatch.setattr(training, "pair", lambda *args, **options: (Model(1, 20), Model(1, 20)))
    for job in training.step(torch.float32):
        job()
    assert seen == [None, None]
