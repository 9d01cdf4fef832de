"""What is kept is whole or not there, and made once."""

from pathlib import Path

import pytest

from zoo.data.cache import cache_folder, cached_file
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
