"""Files of sound: every format and width alike, and what is broken is named."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from zoo.errors import InputError
from zoo.plugins.speech.io.audio_files import read

Write = Callable[..., Path]
FORMATS = [
    ("a.wav", "PCM_16", 1e-4),
    ("a.wav", "PCM_24", 1e-6),
    ("a.wav", "PCM_32", 1e-6),
    ("a.wav", "FLOAT", 1e-6),
    ("a.wav", "DOUBLE", 1e-6),
    ("a.flac", "PCM_16", 1e-4),
    ("a.flac", "PCM_24", 1e-6),
    ("a.ogg", "VORBIS", 0.05),
]


def tone(samples: int, rate: int = 16_000) -> torch.Tensor:
    return (0.4 * (2 * torch.pi * 440 * torch.arange(samples).double() / rate).sin()).float()


@pytest.mark.parametrize(("name", "subtype", "near"), FORMATS)
def test_every_format_gives_the_same_samples(write: Write, name: str, subtype: str, near: float) -> None:
    samples, rate = read(write(name, subtype=subtype))
    assert rate == 16_000
    assert samples.dtype is torch.float32
    torch.testing.assert_close(samples[:, 0], tone(3_200), atol=near, rtol=0)


def test_channels_stand_last(write: Write) -> None:
    samples, rate = read(write("a.wav", rate=8_000, channels=2, subtype="FLOAT"))
    assert (samples.shape, rate) == ((1_600, 2), 8_000)
    torch.testing.assert_close(samples[:, 1], samples[:, 0] / 2)


@pytest.mark.parametrize(("name", "subtype", "near"), FORMATS)
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_half_a_file_is_named(write: Write, name: str, subtype: str, near: float, share: float) -> None:
    path = write(name, seconds=1.0, subtype=subtype)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError, match=f"{name}' (is truncated|cannot be read as sound)"):
        read(path)


def test_a_file_that_was_piped_does_not_know_its_length(write: Write) -> None:
    path = write("a.wav", subtype="PCM_16")
    whole = bytearray(path.read_bytes())
    whole[40:44] = b"\xff\xff\xff\xff"
    path.write_bytes(whole)
    assert len(read(path)[0]) == 3_200


@pytest.mark.parametrize("content", [b"", b"hello, this is a text", b"RIFF\x00\x00\x00\x00WAVE"])
def test_what_is_no_sound_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.wav' cannot be read as sound"):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file '.*nothing\.flac'"):
        read(tmp_path / "nothing.flac")


def test_a_folder_and_a_pipe_are_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"'{tmp_path}' is a folder: name the files in it"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(InputError, match=r"pipe\.wav' is a pipe: zoo transcribe --stream reads"):
        read(tmp_path / "pipe.wav")
