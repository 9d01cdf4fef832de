"""What a plugin imports when it is listed: measured in a new process, and named."""

import re
from pathlib import Path

import pytest

from zoo.plugin_check.listing_cost import MOST_SECONDS, Cost, check_cost, importers


@pytest.fixture(autouse=True)
def _room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_library.py").write_text(f"import time; time.sleep({MOST_SECONDS} + .1)\n")
    (tmp_path / "inner_part.py").write_text("import numpy\n")
    return tmp_path


def test_a_heavy_library_is_named_with_who_imports_it(tmp_path: Path) -> None:
    (tmp_path / "zoo_heavy.py").write_text("import inner_part\n")
    (finding, *_) = check_cost("zoo_heavy", ())
    assert (finding.level, finding.where) == ("error", "inner_part")
    assert "imports numpy (" in finding.fault
    assert "entry" in finding.mend


def test_a_library_that_a_record_requires_is_heavy_too(tmp_path: Path) -> None:
    (tmp_path / "own_library.py").write_text("")
    (tmp_path / "zoo_light.py").write_text("import own_library\n")
    assert check_cost("zoo_light", ()) == []
    assert "own_library" in check_cost("zoo_light", ("own_library",))[0].fault


def test_what_takes_long_is_measured_and_the_costliest_named(tmp_path: Path) -> None:
    (tmp_path / "zoo_slow.py").write_text("import slow_library\n")
    (finding,) = check_cost("zoo_slow", ())
    assert re.search(r"its import takes \d+\.\d s", finding.fault)
    assert re.search(r"of which slow_library \d", finding.fault)


def test_what_took_long_once_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [Cost(seconds, 0.0, frozenset(), {}) for seconds in (5.0, 0.1)]
    monkeypatch.setattr("zoo.plugin_check.listing_cost.measure", lambda module: costs.pop(0))
    assert check_cost("zoo_busy", ()) == []
    assert costs == []


def test_a_module_that_raises_or_ends_the_process_is_told(tmp_path: Path) -> None:
    (tmp_path / "zoo_raises.py").write_text("raise RuntimeError('no reason')\n")
    (finding,) = check_cost("zoo_raises", ())
    assert "RuntimeError: no reason" in finding.fault
    (tmp_path / "zoo_ends.py").write_text("import os; os._exit(9)\n")
    (finding,) = check_cost("zoo_ends", ())
    assert "code 9" in finding.fault


def test_a_module_whose_import_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.plugin_check.listing_cost._TIMEOUT", 0.5)
    (tmp_path / "zoo_waits.py").write_text("import time; time.sleep(60)\n")
    (finding,) = check_cost("zoo_waits", ())
    assert (finding.level, finding.where) == ("error", "zoo_waits")
    assert "did not end within 0.5 s" in finding.fault
    assert "python -c 'import zoo_waits'" in finding.mend


def test_the_importer_of_a_module_is_read_from_its_indentation() -> None:
    rows = ("100 |        100 |     c", "200 |        300 |   b", "5 |          5 |   d", "10 |        315 | a")
    found = importers("\n".join(f"import time:       {row}" for row in rows))
    assert {name: importer for name, (importer, _) in found.items()} == {"a": "", "b": "a", "c": "b", "d": "a"}
    assert found["b"][1] == pytest.approx(300e-6)
