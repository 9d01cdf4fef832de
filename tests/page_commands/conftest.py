"""The files of which pages speak, and what runs a command of a page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.page_commands.given_files import write_pictures, write_sounds, write_texts
from tests.page_commands.running import Commands, forget, make_small


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files of which pages speak, once."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for write in (write_pictures, write_sounds, write_texts):
            write()
    (folder / "docs").mkdir()
    return folder


@pytest.fixture
def run(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Run a command in this process, in a folder of files of which pages speak; give its error, mostly none."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_CACHE", str(files / "cache"))
    make_small(monkeypatch)
    yield Commands(tmp_path / "typed")
    monkeypatch.undo()
    forget()
