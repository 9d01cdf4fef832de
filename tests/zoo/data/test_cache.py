"""What is kept is whole or not there, and made once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zoo.data.cache import cache_folder, cached_file, cached_folder
from zoo.errors import DataError


def test_the_folder_is_the_users_own_or_that_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZOO_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "zoo"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == Path("/elsewhere/zoo")
    monkeypatch.setenv("ZOO_CACHE", "~/mine")
    assert cache_folder() == Path.home() / "mine"


def test_a_file_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("whole")

    first, again = cached_file("a.txt", make), cached_file("a.txt", make)
    assert first == again == tmp_path / "cache" / "a.txt"
    assert first.read_text() == "whole"
    assert len(made) == 1


def test_who_is_stopped_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))

    def stopped(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_file("a.txt", stopped)
    assert not list(tmp_path.iterdir())


def test_of_two_that_make_it_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))

    def outer(path: Path) -> None:
        cached_file("a.txt", inner)
        path.write_text("last")

    def inner(path: Path) -> None:
        path.write_text("first")

    assert cached_file("a.txt", outer).read_text() == "last"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="set ZOO_CACHE to a folder that has room"):
        cached_file("a.txt", lambda path: None)


def test_a_folder_is_made_by_one_while_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "a.txt").write_text("whole")

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: cached_folder("some/thing", make), range(4)))
    assert found == {tmp_path / "some" / "thing"}
    assert len(made) == 1
    assert (tmp_path / "some" / "thing" / "a.txt").read_text() == "whole"


def test_a_folder_that_was_not_finished_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))

    def stopped(folder: Path) -> None:
        (folder / "a.txt").write_text("half")
        raise KeyboardInterrupt

    def go_on(folder: Path) -> None:
        (folder / "a.txt").write_text((folder / "a.txt").read_text() + " and half")

    with pytest.raises(KeyboardInterrupt):
        cached_folder("thing", stopped)
    assert not (tmp_path / "thing").exists()
    assert (cached_folder("thing", go_on) / "a.txt").read_text() == "half and half"
    assert not (tmp_path / "thing.partial").exists()
