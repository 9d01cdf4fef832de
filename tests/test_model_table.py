"""docs/models.md is made from the registry, and says of each model what its record says."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import zoo

PATH = Path(__file__).parents[1] / "docs" / "models.py"


def load() -> Any:
    spec = spec_from_file_location("models_script", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load()


def test_the_page_is_up_to_date() -> None:
    kept = json.loads(script.KEPT.read_text(encoding="utf-8"))
    names = {name for name, found in kept["models"].items() if name not in zoo.list_models()}
    assert not names, f"docs/models.json has {names}, which no plugin names: remove them"
    page = script.PAGE.read_text(encoding="utf-8")
    assert page == script.page(kept), "docs/models.md is out of date: uv run python docs/models.py"


def test_a_row_has_what_the_record_has_and_a_dash_for_what_nobody_measured() -> None:
    spec = zoo.info("vit-small")
    row = script.row(spec, {})
    assert row.startswith(
        "| `vit-small` | attention | 22,050,664 | - | - | - | `augreg_in21k_ft_in1k`, `augreg_in1k` | "
    )
    assert "arXiv:2010.11929" in row
    assert "| 4.6 G | 1 x 3 | 12 |" in script.row(spec, {"multiply_adds": 4.6e9, "input": "1 x 3", "ms": 12.0})


def test_what_is_measured_is_counted_and_timed() -> None:
    found = script.measured("vit-micro")
    assert found["input"] == "1 x 3 x 24 x 24"
    kept = json.loads(script.KEPT.read_text(encoding="utf-8"))["models"]["vit-micro"]
    assert found["multiply_adds"] == kept["multiply_adds"]
    assert found["ms"] > 0
