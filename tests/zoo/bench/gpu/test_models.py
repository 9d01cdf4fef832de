"""The models of the suite `gpu`, tiny."""

from functools import partial
from typing import Any

import pytest
import torch

from zoo.bench.gpu import models

pytestmark = pytest.mark.usefixtures("on_device")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ROWS", 2)
    monkeypatch.setattr(models, "TOKENS", 20)


TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.mark.parametrize("name", ["vit-small", "bert-base", "gpt2-small"])
def test_a_model_and_its_peer_answer_alike(name: str) -> None:
    given = models.inputs(name, 2, torch.float64)
    with torch.no_grad():
        ours, theirs = (model(*given) for model in models.pair(name, torch.float64, **TINY))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("case", models.CASES, ids=lambda case: case.name)
def test_every_case_runs(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "pair", partial(models.pair, **TINY))
    monkeypatch.setattr(torch, "compile", lambda model: model)  # which cannot follow the checks of shapes in tests
    for job in case.build():
        job()
