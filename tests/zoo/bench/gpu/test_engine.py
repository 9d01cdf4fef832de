"""The attention cases of the suite `gpu`, tiny."""

import pytest
import torch

from zoo.bench.engine import edges, windows
from zoo.bench.gpu import engine
from zoo.bench.speed.suite import find_cases

pytestmark = pytest.mark.usefixtures("on_device")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TOKENS", 40)
    monkeypatch.setattr(edges, "NODES", 20)


def test_all_cases_of_the_suite_have_a_target_and_a_name_of_their_own() -> None:
    found = find_cases("zoo.bench.gpu")
    assert len({(case.name, case.peer) for case in found}) == len(found) >= 20
    assert all(0 < case.target <= 1.1 for case in found)


@pytest.mark.parametrize("backend", ["flex", "flash"])
def test_a_backend_that_cannot_serve_is_a_row_with_the_reason(backend: str) -> None:
    if torch.get_default_device().type == "cpu":
        assert "cpu" in str(engine.window(backend, "full", True))


@pytest.mark.parametrize("step", [False, True])
def test_the_window_runs_in_bfloat16_beside_full_attention(step: bool) -> None:
    made = engine.window("auto", "full", step)
    assert isinstance(made, tuple)
    for job in made:
        job()


def test_cases_make_their_tensors_on_the_default_device() -> None:
    with torch.device("meta"):
        assert {x.device.type for x in windows.vectors(4, True, torch.bfloat16)} == {"meta"}
        assert edges.random_graph(20, 60).device.type == "meta"
