"""The files of which pages speak, and what runs a command of a page."""

import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import zoo
from tests.page_commands.given_files import (
    write_data_sets,
    write_pictures,
    write_rows_and_points,
    write_sounds,
    write_texts,
)  # fmt: skip
from tests.page_commands.published import SIZES, asked_for
from tests.page_commands.reading import ROOT
from tests.page_commands.running import Commands, forget, make_small
from zoo.registry import Registry, using


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files of which pages speak, once."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for write in (write_pictures, write_sounds, write_texts, write_data_sets, write_rows_and_points):
            write()
    (folder / "docs").mkdir()
    shutil.copytree(folder / "pictures", folder / "shared" / "pictures")
    return folder


@pytest.fixture
def run(files: Path, hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Run a command in this process, in a folder of files of which pages speak; give its error, mostly none."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_CACHE", str(files / "cache"))
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    make_small(monkeypatch)
    for name, config in SIZES.items():
        for key, value in config.items():
            monkeypatch.setitem(zoo.info(name).config, key, value)
    yield Commands(tmp_path / "typed")
    monkeypatch.undo()
    forget()


@pytest.fixture
def publish(hub: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Iterable[str]], None]:
    """Publish what commands ask for in the stand-in of the hub."""

    def once(commands: Iterable[str]) -> None:
        for name, write in asked_for(commands).items():
            folder = tmp_path_factory.mktemp("published")
            write(folder)
            hub.repositories[name] = {"main": {path.name: path.read_bytes() for path in folder.iterdir()}}

    return once


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Give what puts beside a page what it takes for granted: scripts of the repository, the plugin of an example."""
    with ExitStack() as stack:

        def once(page: str) -> None:
            if page == "CONTRIBUTING.md":
                shutil.copytree(ROOT / "docs", "docs", dirs_exist_ok=True)
                for name in ("zoo", "core", "plugins"):
                    Path(name).symlink_to(ROOT / name)
            if page.startswith("examples/"):
                folder = (ROOT / page).parent
                project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
                monkeypatch.syspath_prepend(folder)
                stack.enter_context(using(Registry([*project["entry-points"]["zoo.plugins"].values()])))

        yield once
