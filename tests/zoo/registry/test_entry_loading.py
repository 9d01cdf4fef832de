"""From a string to code."""

import math
from pathlib import Path

import pytest

from zoo.errors import ConfigError, MissingLibraryError, PluginError
from zoo.registry.entry_loading import load, require
from zoo.spec import Requirement, StudySpec

ABSENT = Requirement(module="no_such_library", distribution="no-such-library", install="attention-zoo[none]")


def study(entry: str, *requires: Requirement) -> StudySpec:
    return StudySpec(name="mine", entry=entry, requires=requires, plugin="p")


def test_an_entry_is_imported_and_its_attributes_are_followed() -> None:
    assert load(study("math:gcd")) is math.gcd
    assert load(study("x:y"), "collections:OrderedDict.fromkeys")("a") == {"a": None}


@pytest.mark.parametrize("entry", ["math", "math:", ":gcd"])
def test_an_entry_of_another_form_is_an_error_that_repeats_it(entry: str) -> None:
    with pytest.raises(PluginError, match=f"'mine' of plugin 'p': entry '{entry}' is not 'package.module:attribute'"):
        load(study(entry))


def test_code_that_does_not_import_is_the_cause_of_the_error() -> None:
    with pytest.raises(PluginError, match="'math:no_such_name' does not import") as caught:
        load(study("math:no_such_name"))
    assert isinstance(caught.value.__cause__, AttributeError)


def test_a_library_that_is_not_installed_is_named_before_anything_is_imported() -> None:
    with pytest.raises(MissingLibraryError, match=r"'mine' needs no-such-library: pip .*attention-zoo\[none\]"):
        load(study("no_such_module:x", ABSENT))


def test_several_libraries_are_named_together_and_installed_once() -> None:
    other = Requirement(module="nor_this", distribution="nor-this", install=ABSENT.install)
    with pytest.raises(MissingLibraryError, match=r'needs no-such-library and nor-this: pip install "[^"]*"$'):
        require("mine", (ABSENT, other))


def test_a_library_that_is_installed_but_broken_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("raise RuntimeError('no such symbol')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = Requirement(module="broken_library", distribution="broken-library", install="broken-library")
    with pytest.raises(MissingLibraryError, match="installed but does not import: RuntimeError: no such symbol"):
        load(study("broken_library:x", broken))


def test_an_error_of_ours_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strict_module.py").write_text("import zoo\nraise zoo.ConfigError('dim=3')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="dim=3"):
        load(study("strict_module:x"))
