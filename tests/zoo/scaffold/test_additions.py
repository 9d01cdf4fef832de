"""`zoo new model` and `zoo new attention` in a plugin that is there."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zoo
from zoo import ConfigError, Registry
from zoo.registry.lookup import using
from zoo.scaffold.additions import new_attention, new_model
from zoo.scaffold.package import new_plugin

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


@pytest.fixture(params=["kit", "zoo-timeseries"])
def plugin(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, str]]:
    """Give a plugin of the kit, and one that was written by hand, each with its module."""
    folder = tmp_path / "plugin"
    if request.param == "kit":
        new_plugin("kit", "", folder)
    else:
        shutil.copytree(EXAMPLES / request.param, folder)
    module = f"zoo_{request.param.removeprefix('zoo-')}"
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == module}
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield folder, module
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        del sys.modules[name]
    sys.modules.update(hidden)


def test_a_new_model_is_built_by_name_and_has_the_parameters_it_declares(plugin: tuple[Path, str]) -> None:
    folder, module = plugin
    before = (folder / module / "plugin.py").read_text()
    written = new_model("walk-linear", folder)
    assert [path.name for path in written] == ["walk_linear.py", "test_walk_linear.py", "plugin.py"]
    with using(Registry([f"{module}.plugin"], autoload=False)) as registry:
        assert registry.plugins()[0].status == "ok", registry.plugins()[0].cause
        model = zoo.create("walk-linear").eval()
        assert model(*zoo.example("walk-linear")).shape == (2, 3)
        assert sum(each.numel() for each in model.parameters()) == zoo.info("walk-linear").parameters
        assert len({spec.modality for spec in registry.models}) == 1
        assert len([*registry.models]) == 3
    assert before != (folder / module / "plugin.py").read_text()


def test_a_new_attention_is_found_by_name(plugin: tuple[Path, str]) -> None:
    folder, module = plugin
    new_attention("sharp", folder)
    with using(Registry(["zoo.registry.builtin", f"{module}.plugin"], autoload=False)) as registry:
        assert "sharp" in registry.attentions.names(), registry.plugins()[-1].cause
        name = next(spec.name for spec in registry.models)
        model = zoo.create(name, attention="sharp:2")
        assert any(key.endswith("q_norm.log") for key in model.state_dict())


@pytest.mark.slow
def test_the_tests_that_are_written_pass(plugin: tuple[Path, str]) -> None:
    folder, _ = plugin
    written = [*new_model("walk-linear", folder), *new_attention("sharp", folder)]
    tests = [str(path) for path in written if path.name.startswith("test_")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b7 passed", done.stdout), done.stdout


def test_a_model_that_is_there_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    folder = new_plugin("kit", "", tmp_path / "kit")
    before = {path: path.read_text() for path in folder.rglob("*.py")}
    for name, told in (
        ("bert-tiny", "there is a model 'bert-tiny' of plugin 'text'"),
        ("models", "already: remove it"),
    ):
        with pytest.raises(ConfigError, match=told):
            new_model(name, folder)
    assert {path: path.read_text() for path in folder.rglob("*.py")} == before


@pytest.mark.parametrize(
    ("project", "told"),
    [
        (None, "is no plugin, it has no pyproject.toml"),
        ("[project", "cannot be read"),
        ("[project]\nname = 'x'", "no entry point"),
        ("[project.entry-points.'zoo.plugins']\na = 'b.plugin'\nc = 'd'", "2 entry points"),
        ("[project.entry-points.'zoo.plugins']\na = 'b.plugin'", "no file"),
    ],
)
def test_a_folder_that_is_no_plugin_is_told(project: str | None, told: str, tmp_path: Path) -> None:
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    with pytest.raises(ConfigError, match=told):
        new_model("mine", tmp_path)


def test_a_plugin_of_one_module_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project.entry-points."zoo.plugins"]\none = "zoo_one"\n')
    (tmp_path / "zoo_one.py").write_text("import zoo\n")
    with pytest.raises(ConfigError, match="is one module, 'zoo_one': make a package"):
        new_model("walk", tmp_path)


def test_a_record_that_is_there_is_not_added_again(plugin: tuple[Path, str]) -> None:
    folder, _ = plugin
    new_model("walk-linear", folder)
    before = {path: path.read_bytes() for path in folder.rglob("*.py")}
    with pytest.raises(ConfigError, match="already: choose another"):
        new_model("walk-linear", folder)
    assert before == {path: path.read_bytes() for path in folder.rglob("*.py")}
