"""Sound that arrives: from a file, a FIFO, or standard input, with a header or without, block by block.

libsndfile reads all of them. What a recorder pipes has a header that was written before the length was known: the
samples behind it are read as if there were no header, since their end is where the pipe ends.

Axes: t samples, c channels.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from types import TracebackType
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.errors import ConfigError, InputError
from zoo.plugins.speech.io.audio_files import ENDLESS, missing
from zoo.plugins.speech.io.preprocess import MOST_CHANNELS, checked_rate
from zoo.plugins.speech.sources import SOUNDFILE
from zoo.registry.entry_loading import require

PIPE = "-"
"""What standard input is called."""
BLOCK = 100
"""Milliseconds."""
WAITING = 600
"""Blocks that are kept for who is late: a minute."""
FORMATS = {
    "u8": ("PCM_U8", "FILE"),
    "s8": ("PCM_S8", "FILE"),
    "s16le": ("PCM_16", "LITTLE"),
    "s16be": ("PCM_16", "BIG"),
    "s24le": ("PCM_24", "LITTLE"),
    "s24be": ("PCM_24", "BIG"),
    "s32le": ("PCM_32", "LITTLE"),
    "s32be": ("PCM_32", "BIG"),
    "f32le": ("FLOAT", "LITTLE"),
    "f32be": ("FLOAT", "BIG"),
    "f64le": ("DOUBLE", "LITTLE"),
    "f64be": ("DOUBLE", "BIG"),
    "mulaw": ("ULAW", "FILE"),
    "alaw": ("ALAW", "FILE"),
}
"""Samples without a header as ffmpeg calls them, and libsndfile's words for them."""
HEADERS = (b"RIFF", b"fLaC", b"OggS")
HINT = (
    "; what has no header needs --raw-rate, and ffmpeg reads what else there is: "
    "ffmpeg -i FILE -f wav - | zoo transcribe --stream -"
)
WIDTHS = {
    "PCM_U8": 1,
    "PCM_16": 2,
    "PCM_24": 3,
    "PCM_32": 4,
    "FLOAT": 4,
    "DOUBLE": 8,
    "ULAW": 1,
    "ALAW": 1,
}
"""Bytes of a sample in a WAV."""


class Raw(NamedTuple):
    """Say how samples are written that have no header.

    Args:
        rate: how many there are in a second.
        format: one of `FORMATS`.
        channels: that take turns.
    """

    rate: int
    format: str = "s16le"
    channels: int = 1

    def options(self) -> dict[str, Any]:
        """Say it in libsndfile's words.

        Raises:
            ConfigError: If the format is unknown, or the channels are too few or too many.
            InputError: If nothing is recorded at this rate.
        """
        if self.format not in FORMATS:
            raise ConfigError(f"--raw-format {self.format} is not one of {', '.join(FORMATS)}")
        if not 0 < self.channels <= MOST_CHANNELS:
            raise ConfigError(f"--raw-channels {self.channels}: one sound has 1 to {MOST_CHANNELS}")
        subtype, endian = FORMATS[self.format]
        return _headless(checked_rate(self.rate), self.channels, subtype, endian)


class Block(NamedTuple):
    """Hold samples, in -1 … 1, and how many there are in a second."""

    samples: Float[Tensor, "t c"]
    rate: int


def blocks(file: str, raw: Raw | None = None) -> Iterator[Block]:
    """Give a sound as it arrives, in blocks of 100 ms; what it is shows when the first is asked for.

    Args:
        file: a path, perhaps of a FIFO, or `-` for standard input.
        raw: how samples are written that have no header.

    Raises:
        InputError: If there is no such file, or nothing is piped in; and later if what comes is no sound, or ends
            before the end that its header tells of.
        ConfigError: If there are no such samples.
    """
    require(f"reading {file!r}", (SOUNDFILE,))
    if file == PIPE and os.isatty(0):
        raise InputError("nothing is piped in: arecord -f S16_LE -r 16000 | zoo transcribe --stream - …")
    if file != PIPE and not Path(file).exists():
        raise InputError(f"There is no file {file!r}")
    return _blocks(file, {} if raw is None else raw.options())


def named(file: str) -> str:
    """Name a sound for errors."""
    return "what is piped in" if file == PIPE else repr(file)


def _blocks(file: str, options: dict[str, Any]) -> Iterator[Block]:
    from soundfile import SoundFile, SoundFileError

    name, descriptor = named(file), 0
    try:
        if file != PIPE:
            descriptor = os.open(file, os.O_RDONLY)
        if options:
            _refuse_header(descriptor, name)
        with SoundFile(descriptor, closefd=False, **options) as sound:
            behind = {} if options or sound.seekable() else _endless(sound)
            come = 0 if behind else (yield from _read(sound, name))
            known = not options and sound.frames < ENDLESS
            again = file if sound.seekable() and file != PIPE else None
            lost = missing(again, sound.extra_info, sound.frames - come) if known and not behind else ""
        if behind:
            with SoundFile(descriptor, closefd=False, **behind) as sound:
                yield from _read(sound, name)
    except (SoundFileError, RuntimeError, OSError) as error:
        hint = "" if options else HINT
        raise InputError(f"{name} cannot be read as sound: {error}{hint}") from error
    finally:
        if descriptor:
            os.close(descriptor)
    if lost:
        raise InputError(f"{name} is truncated: {lost}")


def _refuse_header(descriptor: int, name: str) -> None:
    """Refuse a file that says itself what it holds; what a pipe holds cannot be looked at before.

    Raises:
        InputError: If it does.
    """
    begin = b""
    with suppress(OSError):
        begin = os.pread(descriptor, 4, os.lseek(descriptor, 0, os.SEEK_CUR))
    if begin in HEADERS:
        raise InputError(f"{name} begins with {begin.decode()!r}, a header: leave --raw-rate out")


def _read(sound: Any, name: str) -> Generator[Block, None, int]:
    """Give what libsndfile reads; at the end, how many samples these were."""
    size, come = max(1, sound.samplerate * BLOCK // 1000), 0
    while len(samples := sound.read(size, dtype="float32", always_2d=True)):
        block = torch.from_numpy(samples)
        bad = (~block.isfinite()).any(1).nonzero()
        if len(bad):
            place = int(bad[0])
            yield Block(block[:place], sound.samplerate)
            raise InputError(f"{name}: {block[place].tolist()} at sample {come + place}: samples are finite")
        come += len(samples)
        yield Block(block, sound.samplerate)
    return come


def _endless(sound: Any) -> dict[str, Any]:
    """Say how to read on where the header of a WAV was written before its length was known; nothing elsewhere."""
    width = WIDTHS.get(sound.subtype, 0) * sound.channels
    if sound.format not in ("WAV", "WAVEX") or not width or 0 < width * sound.frames < ENDLESS:
        return {}
    return _headless(sound.samplerate, sound.channels, sound.subtype, "LITTLE")


def _headless(rate: int, channels: int, subtype: str, endian: str) -> dict[str, Any]:
    return {"format": "RAW", "samplerate": rate, "channels": channels, "subtype": subtype, "endian": endian}


class Arriving:
    """Read a sound in the background, so that none is lost while a model is loaded or answers.

    Leaving the `with` stops.

    Args:
        sound: gives blocks.
    """

    def __init__(self, sound: Iterator[Block]) -> None:
        self.sound = sound
        self.queue: SimpleQueue[Block | Exception | None] = SimpleQueue()  # put by the handler of a signal, too
        self.room = Semaphore(WAITING)
        self.stopped = False
        Thread(target=self._fetch, daemon=True).start()

    def __iter__(self) -> Iterator[Block]:
        """Give the blocks, until the sound ends, fails, or is stopped."""
        while (block := self._next()) is not None and not self.stopped:
            if isinstance(block, Exception):
                raise block
            self.room.release()
            yield block

    def stop(self) -> None:
        """Take no more of it: what waits is left out; the handler of a signal may call this, as it takes no lock."""
        self.stopped = True
        self.queue.put(None)

    def __enter__(self) -> "Arriving":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.room.release()

    def _next(self) -> Block | Exception | None:
        while True:
            with suppress(Empty):  # a signal that comes just before the waiting begins does not end it
                return self.queue.get(timeout=0.1)

    def _fetch(self) -> None:
        end = None
        try:
            for block in self.sound:
                self.room.acquire()
                if self.stopped:
                    return
                self.queue.put(block)
        except Exception as error:  # told to who listens
            end = error
        self.queue.put(end)
