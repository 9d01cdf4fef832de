"""docs/plugins.md names each hook, field and member; the tutorial runs word for word."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from zoo import hookspecs, spec
from zoo.bench.grid.engine import SupportsSubmit
from zoo.bench.study.definition import GridStudy
from zoo.core import AttentionLayer, ConfigError, Tokens, head
from zoo.data.corpus import Corpus
from zoo.registry.catalogue import KINDS
from zoo.training.callbacks.callback import Callback

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "new-modality.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL, re.DOTALL | re.MULTILINE)
FILES = {match[1]: code for _, code in FENCES if (match := re.match(r"# ([\w.]+)\n", code))}
COMMANDS = [line for _, code in FENCES if "pip install" in code for line in code.splitlines()]
SERVING = [line for _, code in FENCES if code.startswith("zoo serve") for line in code.splitlines()]


def section(title: str) -> str:
    """Give what stands under a heading."""
    match = re.search(rf"^#+ {title}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert match, f"docs/plugins.md has no heading {title!r}"
    return match[1]


def named(text: str) -> set[str]:
    """Give the names in the first column of the tables of a text, and in its code."""
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def test_each_hook_stands_with_its_arguments() -> None:
    rows = dict(re.findall(r"^\| `(zoo_\w+)\((.*?)\)` \|", section("Hooks"), re.MULTILINE))
    hooks = {name: value for name, value in vars(hookspecs).items() if name.startswith("zoo_")}
    assert rows == {name: ", ".join(signature(hook).parameters) for name, hook in hooks.items()}


@pytest.mark.parametrize("record", [*(kind.record for kind in KINDS), spec.Requirement], ids=lambda each: each.__name__)
def test_each_field_of_each_record_stands_in_its_table(record: Any) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section(record.__name__), re.MULTILINE)
    assert sorted(rows) == sorted(each.name for each in fields(record) if each.name != "plugin")


@pytest.mark.parametrize(
    ("title", "protocol"),
    [
        ("Attention layer", AttentionLayer),
        ("Corpus", Corpus),
        ("Study", GridStudy),
        ("Executor", SupportsSubmit),
        ("Callbacks", Callback),
    ],
)
def test_each_member_of_a_protocol_stands_under_its_heading(title: str, protocol: Any) -> None:
    annotated = {*getattr(protocol, "__annotations__", {})}
    members = {name for name in vars(protocol) if not name.startswith("_")} | annotated
    if protocol is GridStudy:
        members = annotated
    assert not members - named(section(title))


CODE = "".join(path.read_text("utf-8") for room in ("core", "zoo") for path in (ROOT / room).rglob("*.py"))


def asked(*owners: str) -> set[str]:
    """Give the members that the zoo asks for by name of what such a variable holds, since they may be absent."""
    words = "|".join(owners)
    return set(re.findall(rf'(?:getattr|hasattr)\((?:\w+\.)*(?:{words})(?:\(\))?, "(\w+)"', CODE))


def test_what_a_stem_gives_and_may_have_stands_under_its_heading() -> None:
    assert {"spacing", "grid"} <= asked("stem")
    assert {each.name for each in fields(Tokens)} | asked("stem") <= named(section("Stem"))


@pytest.mark.parametrize(
    ("title", "owners", "known"),
    [
        ("Preprocessing", ("preprocess", "reads"), {"reads_files", "names_of_nodes"}),
        ("Postprocessing", ("postprocess", "answers"), {"labels", "batch_of"}),
        ("Head", ("head",), {"pooled"}),
        ("Corpus", ("corpus",), {"notes", "placed"}),
    ],
)
def test_what_an_object_of_a_plugin_may_have_stands_under_its_heading(
    title: str, owners: tuple[str, ...], known: set[str]
) -> None:
    assert known <= asked(*owners)
    assert asked(*owners) <= named(section(title))


def test_what_heads_are_made_of_and_for_stands_under_their_heading() -> None:
    with pytest.raises(ConfigError) as refused:
        head("", 4, 2)
    tasks = re.findall(r"[a-z][a-z-]+", str(refused.value).partition("is not one of")[2])
    made = [head(task, 4, 2) for task in tasks]
    common = set.intersection(*({name for name in dir(each) if not hasattr(nn.Module, name)} for each in made))
    members = {name for name in common if not name.startswith("_")} - {"training"}
    assert {"dim", "num_classes", "reset"} <= members | {*signature(head).parameters}
    text = section("Head")
    assert {*tasks} <= set(re.findall(r"`([a-z-]+)`", text))
    assert members | {*signature(head).parameters} <= named(text)


def test_each_environment_variable_of_discovery_stands_on_the_page() -> None:
    text = (ROOT / "zoo" / "registry" / "discovery.py").read_text(encoding="utf-8")
    assert set(re.findall(r"ZOO_[A-Z_]+", text)) <= set(re.findall(r"ZOO_[A-Z_]+", PAGE))


def test_the_tutorial_takes_at_most_eighty_lines_of_the_authors_own() -> None:
    own = [name for name in FILES if name != "ask.py"]
    lines = [line for name in own for line in FILES[name].splitlines()]
    assert len([line for line in lines if line.strip() and not line.startswith("#")]) <= 80
    assert len(own) == 7


@pytest.mark.slow
def test_the_tutorial_runs_word_for_word(tmp_path: Path) -> None:
    for name, code in FILES.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    room = tmp_path / "installed"
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--python", sys.executable, "--target", room, tmp_path], check=True)
    programs = {"zoo": [sys.executable, "-m", "zoo"], "python": [sys.executable]}
    environment = os.environ | {"PYTHONPATH": f"{room}:{ROOT}", "OMP_NUM_THREADS": "1"}
    told = {}
    for command in [*COMMANDS[1:], "python ask.py"]:
        program, *words = command.split()
        fast = ["-m", "not slow", "-p", "no:cacheprovider"] if "pytest" in words else []
        run = [*programs[program], *words, *fast]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        told[command] = done.stdout
    assert COMMANDS[0] == "pip install ."
    assert "spectra: no faults" in told["zoo plugins check spectra"]
    assert re.search(r"\d+ passed", told["python -m pytest test_zoo_spectra.py"])
    assert told["python ask.py"].splitlines() == re.findall(r"^# (data.*|True)$", FILES["ask.py"], re.MULTILINE)
    if shutil.which("curl") is None:
        pytest.skip("no curl is installed, with which the served model is asked")
    served(programs["zoo"], tmp_path, environment)


def served(zoo: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run the two commands that serve a model and ask it, on a port that is free."""
    start, ask = (shlex.split(command)[1:] for command in SERVING)
    assert start[-2:] == ["--port", "8000"]
    with subprocess.Popen(
        [*zoo, *start[:-1], "0"], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        (address,) = re.findall(r"http://\S+", process.stderr.readline())
        asked = [word.replace("http://127.0.0.1:8000", address) for word in ask]
        done = subprocess.run(["curl", "--silent", *asked], cwd=folder, capture_output=True, text=True)
        process.terminate()
        process.wait(30)
    answers = [answer["labels"] for answer in json.loads(done.stdout)["answers"]]
    assert [max(labels, key=labels.get) for labels in answers] == ["a", "c"], done.stdout
