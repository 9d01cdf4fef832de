import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
API = "ZOO_PLUGIN_API = 1\n"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("zoo.plugin_check.check.check_cost", lambda module, needed: [])
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("toys")
def test_plugins_alone_are_listed(run: Run) -> None:
    code, out, _ = run("plugins")
    assert code == 0
    assert out.splitlines()[0].split() == ["plugin", "distribution", "version", "status", "models", "cause"]
    assert json.loads(run("plugins", "--json")[1])[1]["name"] == "toys"


def test_the_exit_code_tells_errors_and_with_strict_warnings_too(run: Run, tmp_path: Path) -> None:
    hook = "import zoo\n@zoo.hookimpl\ndef zoo_models(): return []\n"
    for text, codes in ((API + hook, (0, 0)), (hook, (0, 1)), (API, (1, 1)), ("def zoo_models(): pass\n", (1, 1))):
        name = f"zoo_case_{len(text)}"
        (tmp_path / f"{name}.py").write_text(text)
        assert (run("plugins", "check", name)[0], run("plugins", "check", name, "--strict")[0]) == codes


def test_each_fault_stands_with_what_to_do_and_all_as_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zoo_case_b.py").write_text("def zoo_models(): pass\n")
    code, out, _ = run("plugins", "check", "zoo_case_b")
    assert "zoo-case-b: 1 error, 1 warning" in out
    assert "error: zoo_models: is not marked, so it is never called\n      write @zoo.hookimpl above it" in out
    found = json.loads(run("plugins", "check", "zoo_case_b", "--json")[1])["zoo-case-b"]
    assert {each["level"] for each in found} == {"error", "warning"}
    assert code == 1


def test_a_plugin_that_is_not_there_is_an_error(run: Run) -> None:
    code, _, err = run("plugins", "check", "visoin")
    assert code == 2
    assert "Did you mean 'vision'" in err
