"""Files of sound: WAV, FLAC, OGG and what else libsndfile reads, of any width of samples; truncated files are errors.

Axes: t samples, c channels.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import SEEK_END, BufferedReader, BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from zoo import InputError
from zoo.plugins.speech.sources import SOUNDFILE
from zoo.registry import require

ENDLESS = 2**31 - 2**16
"""Bytes from which on a WAV's header says nothing: what was piped is written before its length is known."""
PAGE = 2**16
"""More bytes than a page of OGG has."""
MAGIC, HEADER, LAST = b"OggS", 27, 4
"""How a page of OGG begins, the bytes before its table of pieces, and the flag of the last page: RFC 3533 sec. 6."""


def read(path: str | PathLike[str] | BytesIO) -> tuple[Float[Tensor, "t c"], int]:
    """Read a file, or its bytes: its samples, in -1 … 1, and how many there are in a second.

    Raises:
        InputError: If there is no such file, it is a folder, a pipe or no sound, or its end is missing.
    """
    with _opened(path) as file:
        reported, rate, about = file.frames, file.samplerate, file.extra_info
        samples = file.read(dtype="float32", always_2d=True)
    _check_whole(path, about, reported - len(samples))
    return torch.from_numpy(samples), rate


def measure(path: str | PathLike[str] | BytesIO) -> tuple[int, int]:
    """Read the header of a file, or of its bytes: how many samples it has, and how many there are in a second.

    Raises:
        InputError: If there is no such file, it is a folder, a pipe or no sound, or its end is seen to be missing.
    """
    with _opened(path) as file:
        frames, rate, about = file.frames, file.samplerate, file.extra_info
    _check_whole(path, about, 0)
    return frames, rate


@contextmanager
def _opened(path: str | PathLike[str] | BytesIO) -> Iterator[Any]:
    """Open a file for soundfile, with errors of ours."""
    require(f"reading {str(path)!r}", (SOUNDFILE,))
    import soundfile

    if isinstance(path, BytesIO):
        path.seek(0)
    else:
        _check_file(Path(path))
    plain = isinstance(path, BytesIO) or sys.platform == "win32"
    try:
        with soundfile.SoundFile(path if plain else os.fsencode(str(path))) as file:  # names that are not UTF-8 too
            yield file
    except (soundfile.SoundFileError, RuntimeError, OSError) as error:
        raise InputError(f"{str(path)!r} cannot be read as sound: {error}") from error


def _check_whole(path: str | PathLike[str] | BytesIO, about: str, frames: int) -> None:
    if lost := missing(path, about, frames):
        raise InputError(f"{str(path)!r} is truncated: {lost}")


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name the files in it")
    if path.is_fifo():
        raise InputError(f"{str(path)!r} is a pipe: zoo transcribe --stream reads what comes through it")
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}")


def missing(path: str | PathLike[str] | BytesIO | None, about: str, frames: int) -> str:
    """Say what is missing of a file; an empty string if nothing is.

    Args:
        path: the file; None if it cannot be read again.
        about: what libsndfile found in it.
        frames: samples that were announced and did not come.
    """
    if frames > 0:
        return f"{frames} samples are missing"
    size = re.search(r"^data : (\d+) \(should be (\d+)\)", about, re.MULTILINE)
    if size and int(size[2]) < int(size[1]) < ENDLESS:
        return f"its header tells of {size[1]} bytes, and {size[2]} are there"
    if path is None:
        return ""
    with nullcontext(path) if isinstance(path, BytesIO) else open(path, "rb") as file:
        return "" if _ends(file) else "its last page is missing"


def _ends(file: BytesIO | BufferedReader) -> bool:
    """Tell whether an OGG ends with a whole page that is marked as the last; other files are taken to end."""
    file.seek(0)
    if file.read(4) != MAGIC:
        return True
    file.seek(max(0, file.seek(0, SEEK_END) - PAGE))
    tail = file.read()
    page = tail[max(0, tail.rfind(MAGIC)) :]
    if not page.startswith(MAGIC) or len(page) < HEADER:
        return False
    pieces = page[HEADER : HEADER + page[HEADER - 1]]
    return bool(page[5] & LAST) and len(page) >= HEADER + len(pieces) + sum(pieces)
