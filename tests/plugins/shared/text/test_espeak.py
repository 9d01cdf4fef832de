"""The program that pronounces: a line for each word, and missed with a word how to get it."""

import shutil
from pathlib import Path

import pytest

from zoo.errors import DataError
from zoo.plugins.shared.text import espeak

there = pytest.mark.skipif(shutil.which(espeak.PROGRAM) is None, reason=f"{espeak.PROGRAM} is not installed")


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """Put another program in the place of espeak-ng."""
    path = folder / espeak.PROGRAM
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_without_the_program_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        DataError,
        match=r"these data need the program espeak-ng, .*: apt-get install espeak-ng, brew",
    ):
        espeak.version()


@pytest.mark.parametrize("told", ["eSpeak NG text-to-speech: 1.49.2  Data at: /usr", "something else"])
def test_a_program_that_is_too_old_is_refused(told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, monkeypatch, f"echo '{told}'")
    with pytest.raises(DataError, match=r"need espeak-ng 1\.50 or newer, here is '"):
        espeak.version()


def test_the_version_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, monkeypatch, "echo 'eSpeak NG text-to-speech: 1.52-dev  Data at: /usr'")
    assert espeak.version() == "1.52"


def test_a_program_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, monkeypatch, "exec sleep 5")
    monkeypatch.setattr(espeak, "SECONDS", 0.1)
    with pytest.raises(DataError, match=r"seven failed: .* timed out after 0\.1"):
        espeak.run(["seven"])


@there
def test_each_word_has_its_phonemes_whatever_stands_beside_it() -> None:
    words = ["through", "the", "seven", "a"]
    assert list(espeak.pronounce(words, "en-us")) == ["θ ɹ ˈuː", "ð ˈə", "s ˈɛ v ə n", "ˈeɪ"]
    assert list(espeak.pronounce(words[::-1], "en-us")) == ["ˈeɪ", "s ˈɛ v ə n", "ð ˈə", "θ ɹ ˈuː"]
    assert list(espeak.pronounce(["sieben"], "de")) != list(espeak.pronounce(["sieben"], "en-us"))


@there
def test_a_word_that_is_none_is_named_among_many() -> None:
    with pytest.raises(DataError, match="says nothing for '-': it is no word"):
        list(espeak.pronounce(["one", "two", "-", "three"], "en-us"))


@there
def test_a_language_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"-v xx --stdin failed: .*voice does not exist"):
        list(espeak.pronounce(["one"], "xx"))
