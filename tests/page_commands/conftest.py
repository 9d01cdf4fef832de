"""The files of which pages speak, and what runs a command of a page."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zoo
from tests.page_commands.given_files import write_data_sets, write_pictures, write_sounds, write_texts
from tests.page_commands.published import SIZES, asked_for
from tests.page_commands.running import Commands, forget, make_small


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files of which pages speak, once."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for write in (write_pictures, write_sounds, write_texts, write_data_sets):
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
