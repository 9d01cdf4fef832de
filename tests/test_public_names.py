"""Public names are recorded: what breaks callers is deprecated first, what is added is recorded."""

import ast
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
    before, after = script.RECORD.read_text(encoding="utf-8"), script.record()
    broken = script.breaks(before, after)
    assert not broken, f"these break callers, so deprecate them first (zoo.core.deprecated): {broken}"
    changed = sorted({*before.splitlines()} ^ {*after.splitlines()})
    assert not changed, f"run uv run python docs/public_names.py to record {changed}"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("def f(x): ...", "", "zoo.f: Public object was removed"),
        ("def f(x, y=1): ...", "def f(x): ...", "zoo.f(y): Parameter was removed"),
        ("def f(x): ...", "def f(x, y): ...", "zoo.f(y): Parameter was added as required"),
        ("def f(x=1): ...", "def f(x): ...", "zoo.f(x): Parameter is now required"),
        ("def f(x=1): ...", "def f(x=2): ...", "zoo.f(x): Parameter default was changed"),
        ("def f(x, y=1): ...", "def f(x, *, y=1): ...", "zoo.f(y): Parameter kind was changed"),
        ("def f(x, y=1): ...", "def f(x, z=1, y=1): ...", "zoo.f(y): Positional parameter was moved"),
        ("class A(B): ...", "class A: ...", "zoo.A: Base class was removed"),
        ("class A:\n    x = ...", "class A: ...", "zoo.A.x: Public object was removed"),
        (
            "class A:\n    def __init__(self): ...",
            "class A:\n    def __init__(self, x): ...",
            "zoo.A.__init__(x): Param",
        ),
        ("class core:\n    def f(): ...", "class core: ...", "zoo.core.f: Public object was removed"),
        ("def f(): ...", "f = ...", "zoo.f: Public object points to a different kind of object"),
    ],
)
def test_what_breaks_callers_is_told(before: str, after: str, told: str) -> None:
    (found,) = script.breaks(before, after)
    assert found.startswith(told)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x): ...", "def f(x, y=1): ..."),
        ("def f(x): ...", "def f(x=1, *, y=1): ..."),
        ("def f(x, *, y=1): ...", "def f(x, y=1): ..."),
        ("def f(x, y=1): ...", "def f(x, y=1, **others): ..."),
        ("class C: ...", "class C:\n    x = ..."),
    ],
)
def test_what_breaks_nobody_is_not_told(before: str, after: str) -> None:
    assert script.breaks(before, f"{after}\ndef g(): ...") == []


def test_members_and_defaults_stand_in_the_record() -> None:
    text = script.RECORD.read_text(encoding="utf-8")
    compile(text, "public_names", "exec", flags=ast.PyCF_ONLY_AST)
    assert "        def with_x(self, x): ..." in text.partition("    class Tokens:")[2][:2_000]
    assert "def create(name, pretrained=None, *, weights=None" in text
    assert "hookimpl = ..." in text.splitlines()
