"""The time series plugin as it was at commit 9bedfee, before modules moved: it is listed, and told what to change."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zoo
from zoo import PluginError, Registry
from zoo.plugin_check.check import candidates, check_plugin
from zoo.registry import using
from zoo.registry.moved_name import advice

OLD = Path(__file__).parent / "timeseries_of_9bedfee"
WRITE = "write `from zoo.core import head`"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the package's folder, importable as `old_timeseries`."""
    folder = tmp_path / "old_timeseries"
    folder.mkdir()
    for path in OLD.iterdir():
        text = path.read_text(encoding="utf-8").replace("zoo_timeseries", "old_timeseries")
        (folder / path.stem).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "old_timeseries"]:
        del sys.modules[name]


def test_its_models_are_listed(folder: Path) -> None:
    with using(Registry(["old_timeseries.plugin"], autoload=False)):
        assert zoo.list_models() == ["series-small", "series-tiny"]
        assert zoo.info("series-tiny").parameters == 25_957


def test_creating_one_tells_what_to_write_instead(folder: Path) -> None:
    registry = Registry(["old_timeseries.plugin"], autoload=False)
    with using(registry), pytest.raises(PluginError, match=r"No module named 'zoo.core.head'.*may move.*" + WRITE):
        zoo.create("series-tiny")


def test_the_check_of_plugins_tells_it_too(folder: Path) -> None:
    (candidate,) = candidates("old_timeseries.plugin")
    told = [f"{each.fault} {each.mend}" for each in check_plugin(candidate) if "zoo.core.head" in each.fault]
    assert told
    assert all(WRITE in text for text in told)


def test_it_works_once_that_line_is_written(folder: Path) -> None:
    path = folder / "models.py"
    path.write_text(path.read_text().replace("from zoo.core.head import head", "from zoo.core import head"))
    with using(Registry(["zoo.registry.builtin", "old_timeseries.plugin"], autoload=False)):
        model = zoo.create("series-tiny", attention="window:2")
        assert model(*zoo.example("series-tiny")).shape == (2, 5)
        assert sum(parameter.numel() for parameter in model.parameters()) == 25_957


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "from zoo.core.attention import Attention, Window",
            "`from zoo.core import Attention`, `from zoo.core import Window`",
        ),
        ("from zoo.old_specs import ModelSpec", "`from zoo import ModelSpec`"),
        ("from zoo.core import gone", "no public name gone"),
        ("from zoo.core.nowhere import gone", "no public name gone"),
        ("import zoo.core.nowhere", "no public name nowhere"),
    ],
)
def test_each_kind_of_import_is_told(line: str, told: str, tmp_path: Path) -> None:
    assert told in advice(failure(line, tmp_path))


def test_nothing_is_told_of_other_libraries_and_other_errors(tmp_path: Path) -> None:
    assert not advice(failure("import json.nowhere", tmp_path))
    assert not advice(ValueError("zoo.core.head"))


def failure(line: str, folder: Path) -> ImportError:
    """Give the error of a file with this line."""
    path = folder / "asking.py"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(ImportError) as caught:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {})
    return caught.value
