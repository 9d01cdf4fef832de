"""The program that speaks: the same each time."""

import shutil
from pathlib import Path

import pytest
import torch

from zoo.errors import DataError
from zoo.plugins.speech.data.synthetic import espeak
from zoo.plugins.speech.data.synthetic.voices import ACCENTS, SPEAKERS, Utterance

spoken = pytest.mark.skipif(shutil.which(espeak.PROGRAM) is None, reason=f"{espeak.PROGRAM} is not installed")
SEVEN = Utterance("seven", "en-us", "m3", 170, 50)


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """Put another program in the place of espeak-ng."""
    path = folder / espeak.PROGRAM
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@spoken
def test_the_same_is_spoken_each_time() -> None:
    sound = espeak.speak(SEVEN)
    assert torch.equal(sound, espeak.speak(SEVEN))
    assert 4_000 < len(sound) < 16_000
    assert 0.1 < float(sound.abs().max()) <= 1.1


@spoken
def test_voice_speed_and_pitch_are_heard() -> None:
    sound = espeak.speak(SEVEN)
    assert len(espeak.speak(SEVEN._replace(speed=130))) > 1.1 * len(sound)
    for other in (SEVEN._replace(pitch=70), SEVEN._replace(accent="en-gb-scotland"), SEVEN._replace(text="six")):
        assert not torch.equal(espeak.speak(other), sound)


@spoken
@pytest.mark.slow
def test_every_voice_is_there_and_another() -> None:
    found = [espeak.speak(SEVEN._replace(speaker=who)).numpy().tobytes() for who in ("nobody", *SPEAKERS)]
    assert len(set(found)) == len(found)
    found = [espeak.speak(SEVEN._replace(accent=accent)).numpy().tobytes() for accent in ACCENTS]
    assert len(set(found)) == len(found)


def test_what_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, monkeypatch, "echo no voices >&2; exit 1")
    with pytest.raises(DataError, match=r"en-us[+]m3.* seven failed: no voices"):
        espeak.speak(SEVEN)
    program(tmp_path, monkeypatch, "exit 0")
    with pytest.raises(DataError, match="says nothing for Utterance"):
        espeak.speak(SEVEN)
