"""Public names are recorded: what breaks callers is deprecated first, what is added is recorded."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[1] / "docs" / "public_names.py"


def load() -> Any:
    spec = spec_from_file_location("public_names_script", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load()


def test_the_record_is_that_of_the_code() -> None:
    # in a process of its own: without the checks of types at run time, it imports all in a fraction of the time
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PATH, "-"], capture_output=True, text=True, cwd=PATH.parents[1]
    )
    assert done.returncode == 0, done.stderr
    before, after = script.RECORD.read_text(encoding="utf-8").splitlines(), done.stdout.splitlines()
    broken = script.breaks(before, after)
    assert not broken, f"these break callers, so deprecate them first (zoo.core.deprecated): {broken}"
    changed = sorted({*before} ^ {*after})
    assert not changed, f"run uv run python docs/public_names.py to record {changed}"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("zoo.f(x)", "", "zoo.f is gone"),
        ("zoo.f(x, y=)", "zoo.f(x)", "zoo.f has lost y"),
        ("zoo.f(x)", "zoo.f(x, y)", "zoo.f needs y now"),
        ("zoo.f(x=)", "zoo.f(x)", "zoo.f needs x now"),
        ("zoo.f(x, y)", "zoo.f(y, x)", "zoo.f has its arguments in another order"),
        ("zoo.f(x, y=)", "zoo.f(x, *, y=)", "zoo.f has its arguments in another order"),
        ("zoo.f(x, y=)", "zoo.f(x, z=, y=)", "zoo.f has its arguments in another order"),
    ],
)
def test_what_breaks_callers_is_told(before: str, after: str, told: str) -> None:
    assert script.breaks([before], [after]) == [told]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("zoo.f(x)", "zoo.f(x, y=)"),
        ("zoo.f(x)", "zoo.f(x=, *, y=)"),
        ("zoo.f(x, *, y=)", "zoo.f(x, y=)"),
        ("zoo.f(x, y=)", "zoo.f(x, **others)"),
        ("zoo.C", "zoo.C"),
    ],
)
def test_what_breaks_nobody_is_not_told(before: str, after: str) -> None:
    assert script.breaks([before], [after, "zoo.g()"]) == []


def test_members_and_defaults_stand_in_the_record() -> None:
    lines = script.RECORD.read_text(encoding="utf-8").splitlines()
    assert "zoo.core.Tokens.with_x(self, x)" in lines
    assert any(line.startswith("zoo.create(name, pretrained=") for line in lines)
    assert "zoo.hookimpl" in {script.name_of(line) for line in lines}
