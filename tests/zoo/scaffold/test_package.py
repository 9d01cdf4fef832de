"""What `zoo new plugin` writes: each combination of parts is whole, and representative ones install and run."""

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from zoo import ConfigError, Registry
from zoo.scaffold.naming import Names
from zoo.scaffold.package import PARTS, new_plugin, plugin_files

COMBINATIONS = [parts for count in range(len(PARTS) + 1) for parts in itertools.combinations(PARTS, count)]
WHOLE = [parts for parts in COMBINATIONS if "study" not in parts or "source" in parts]


def entries(value: Any) -> Iterator[str]:
    """Give the entries in a record."""
    texts = (getattr(value, name) for name in value.__dataclass_fields__)
    yield from (text for text in texts if isinstance(text, str) and re.fullmatch(r"zoo_gait[\w.]*:\w+", text))


@pytest.mark.parametrize("parts", WHOLE, ids="+".join)
def test_each_combination_names_only_files_that_it_has(parts: tuple[str, ...]) -> None:
    files = plugin_files(Names("gait"), parts)
    for path, text in files.items():
        assert not re.search(r"\$|^#: ", text, re.MULTILINE), path
        if path.endswith(".py"):
            compile(text, path, "exec")
            for module in re.findall(r"^\s*(?:from|import) (zoo_gait[\w.]*)", text, re.MULTILINE):
                assert f"{module.replace('.', '/')}.py" in files, f"{path} imports {module}"
    plugin = ModuleType("zoo_gait.plugin")
    exec(files["zoo_gait/plugin.py"], vars(plugin))
    registry = Registry([plugin], autoload=False)
    assert registry.plugins()[0].status == "ok", registry.plugins()[0].cause
    for catalogue in (registry.models, registry.sources, registry.attentions, registry.studies):
        for record in catalogue:
            for entry in entries(record):
                module, _, attribute = entry.partition(":")
                text = files[f"{module.replace('.', '/')}.py"]
                assert re.search(rf"^(def|class) {attribute}\b|^{attribute} = ", text, re.MULTILINE), entry
    assert len([*registry.sources]) == 2 * ("source" in parts)
    assert len([*registry.attentions]) == ("attention" in parts)
    assert len([*registry.studies]) == ("study" in parts)
    assert hasattr(plugin, "zoo_commands") == ("command" in parts)
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["entry-points"]["zoo.plugins"] == {"gait": "zoo_gait.plugin"}
    shown = set(re.findall(r"`zoo_gait/(\w+\.py)`", files["README.md"]))
    own = {path.partition("/")[2] for path in files if path.startswith("zoo_gait/")} - {"__init__.py"}
    assert shown == own


def test_what_is_written_is_formatted(tmp_path: Path) -> None:
    folder = new_plugin("gait", ",".join(PARTS), tmp_path / "gait")
    for command in (["check", "--select", "B,C4,E,F,I,N,SIM,UP,W"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=120", "--no-cache", "."],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_a_study_brings_a_source_and_the_folder_is_named_after_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = new_plugin("Hand_Pose", "study")
    assert folder == Path("zoo-hand-pose")
    assert (folder / "zoo_hand_pose" / "source.py").is_file()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_is_not_overwritten(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "zoo-gait"
    target.mkdir() if kind == "folder" else target.write_text("mine")
    with pytest.raises(ConfigError, match=rf"there is a {kind} .*zoo-gait' already"):
        new_plugin("gait", "", target)
    assert target.is_dir() or target.read_text() == "mine"


def test_a_place_that_cannot_be_written_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written: "):
        new_plugin("gait", "", tmp_path / "file" / "zoo-gait")

    def refuse(self: Path, *_: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(ConfigError, match=r"zoo-gait' cannot be written: Permission denied"):
        new_plugin("gait", "", tmp_path / "zoo-gait")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written: Permission denied"):
        new_plugin("gait", "", tmp_path / "zoo-gait")


def environment(folder: Path) -> Path:
    """Make a fresh environment that has what this one has, and give its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (room,) = (folder / "lib").glob("python3*/site-packages")
    own = next(path for path in sys.path if path.endswith("site-packages"))
    (room / "outer.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    return folder / "bin" / "python"


def run(python: Path, folder: Path, *words: str, given: str = "") -> str:
    """Run a module in an environment, with one thread, and give what it prints."""
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [str(python), "-m", *words]
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


INSTALL = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", "--python"]
PYTEST = ["pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib"]
SESSION = """
import json, os, runpy, sys
from zoo.cli.app import build
app = build()
for folder, program, *words in json.load(sys.stdin):
    print("$", folder, program, *words, flush=True)
    os.chdir(folder)
    sys.argv = [program, *words]
    if program == "zoo":
        app(words, standalone_mode=False)
    else:
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__")
"""
"""Commands one after another in one process, since each would import torch for seconds."""
SHORT = {"train": " --steps 20", "bench": " --seeds 1 --steps 5 --workers 0"}
"""What makes the commands of a README short; an option that is given twice has its last value."""
ANSWERS = {
    "list": "-small", "train": "accuracy", "predict": "fast|slow|medium", "bench": "is best", "info": "sharp",
    "describe": "columns, mean", "python": "",
}  # fmt: skip


def commands(folder: Path) -> Iterator[tuple[str, str]]:
    """Give the commands that the README of a plugin shows, shortened, each with a pattern of what it prints."""
    for command in re.findall(r"^    ((?:zoo|python) .*)$", (folder / "README.md").read_text(), re.MULTILINE):
        program, verb, *_ = command.split()
        kind = verb.rpartition("-")[2] if program == "zoo" else program
        if kind != "plugins":
            yield command + SHORT.get(kind, ""), ANSWERS[kind]


@pytest.mark.slow
def test_every_combination_is_built_installed_listed_trained_asked_tested_and_studied(tmp_path: Path) -> None:
    made = {"-".join(("gait", *parts)): parts for parts in WHOLE}
    folders = [new_plugin(name, ",".join(parts), tmp_path / name) for name, parts in made.items()]
    python = environment(tmp_path / "venv")
    subprocess.run([*INSTALL, str(python), *map(str, folders)], check=True)
    (tmp_path / "session.py").write_text(SESSION)
    for folder in folders:
        (folder / "data" / "slow").mkdir(parents=True)
        (folder / "data" / "slow" / "0.csv").write_text("1,2\n3,4\n")
    asked = [(f"{folder} {command}", answer) for folder in folders for command, answer in commands(folder)]
    told = run(python, tmp_path, "session", given=json.dumps([command.split() for command, _ in asked]))
    answers = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", told, re.MULTILINE))
    for command, answer in asked:
        assert re.search(answer, answers[command]), f"{command}\n{answers[command]}"
    checked = run(python, tmp_path, "zoo", "plugins", "check")
    assert {f"{name}: no faults" for name in made} <= {*checked.splitlines()}, checked
    assert re.search(r"\d+ passed", run(python, tmp_path, *PYTEST, *map(str, folders)))
