"""What `zoo new plugin` writes: each combination of parts is whole, and representative ones install and run."""

import itertools
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


EVERY = "ZOO_TEST_EVERY_PLUGIN" in os.environ
"""Whether every combination is built and run, which takes ten minutes; otherwise the one that has all parts."""


@pytest.mark.slow
@pytest.mark.parametrize("parts", WHOLE if EVERY else [PARTS], ids="+".join)
def test_a_new_plugin_is_built_installed_listed_trained_asked_tested_and_studied(
    parts: tuple[str, ...], tmp_path: Path
) -> None:
    folder, python = new_plugin("gait", ",".join(parts), tmp_path / "zoo-gait"), environment(tmp_path / "venv")

    def run(*words: str) -> str:
        quiet = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run([python, "-m", *words], cwd=tmp_path, capture_output=True, text=True, env=quiet)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    build = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", "--python"]
    subprocess.run([*build, str(python), str(folder)], check=True)
    assert re.findall(r"^gait-(?:tiny|small)", run("zoo", "list", "--modality", "gait"), re.MULTILINE)
    assert "gait: no faults" in run("zoo", "plugins", "check", "gait")
    run("pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", str(folder))
    if "source" in parts:
        run("zoo_gait.sample", "data")
        run("zoo", "train", "gait-tiny", "--data", "gait:data", "--out", "run", "--steps", "20")
        assert re.search(r"fast|slow|medium", run("zoo", "predict", "run", "data/slow/0.csv"))
    if "study" in parts:
        assert "is best" in run("zoo", "bench", "gait-size", "--seeds", "1", "--steps", "5", "--workers", "0")
    if "attention" in parts:
        assert "gait-temperature" in run("zoo", "list", "attention=")
    if "command" in parts:
        (tmp_path / "one.csv").write_text("1,2\n3,4\n")
        assert "columns, mean" in run("zoo", "gait-describe", "one.csv")
