"""Audio streams: blocks of samples from a file, a FIFO or standard input, with a header or raw.

libsndfile reads all of them. A recorder that pipes writes its header before the length is known: the samples after it
are read as raw ones, since their end is where the pipe ends.

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

from zoo import ConfigError, InputError
from zoo.plugins.speech.io.audio_files import ENDLESS, missing
from zoo.plugins.speech.io.preprocess import MOST_CHANNELS, checked_rate
from zoo.plugins.speech.sources import SOUNDFILE
from zoo.registry import require

PIPE = "-"
"""Name of standard input."""
BLOCK = 100
"""Length of a block, ms."""
WAITING = 600
"""Blocks in the buffer: a minute."""
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
"""ffmpeg's names of raw sample formats, and libsndfile's subtype and endianness."""
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
    """Format of raw samples, which have no header.

    Args:
        rate: sample rate, Hz.
        format: one of `FORMATS`.
        channels: number of interleaved channels.
    """

    rate: int
    format: str = "s16le"
    channels: int = 1

    def options(self) -> dict[str, Any]:
        """Return the options of `soundfile.SoundFile`.

        Raises:
            ConfigError: If the format is unknown, or the channels are too few or too many.
            InputError: If the sample rate is out of range.
        """
        if self.format not in FORMATS:
            raise ConfigError(f"--raw-format {self.format} is not one of {', '.join(FORMATS)}")
        if not 0 < self.channels <= MOST_CHANNELS:
            raise ConfigError(f"--raw-channels {self.channels}: one sound has 1 to {MOST_CHANNELS}")
        subtype, endian = FORMATS[self.format]
        return _headless(checked_rate(self.rate), self.channels, subtype, endian)


class Block(NamedTuple):
    """Samples, in -1 … 1, and their rate in Hz."""

    samples: Float[Tensor, "t c"]
    rate: int


def blocks(file: str, raw: Raw | None = None) -> Iterator[Block]:
    """Yield an audio stream in blocks of 100 ms; its header is read with the first block.

    Args:
        file: a path, perhaps of a FIFO, or `-` for standard input.
        raw: format of raw samples; None where there is a header.

    Raises:
        InputError: If there is no such file, or nothing is piped in; while reading: if it is no audio, or is truncated.
        ConfigError: If the format is unknown.
    """
    require(f"reading {file!r}", (SOUNDFILE,))
    if file == PIPE and os.isatty(0):
        raise InputError("nothing is piped in: arecord -f S16_LE -r 16000 | zoo transcribe --stream - …")
    if file != PIPE and not Path(file).exists():
        raise InputError(f"There is no file {file!r}")
    return _blocks(file, {} if raw is None else raw.options())


def named(file: str) -> str:
    """Return the name of a stream for errors."""
    return "what is piped in" if file == PIPE else repr(file)


def _blocks(file: str, options: dict[str, Any]) -> Iterator[Block]:
    from soundfile import SoundFile, SoundFileError

    name, descriptor = named(file), 0
    try:
        if file != PIPE:
            descriptor = os.open(file, os.O_RDONLY)
        if options:
            _check_no_header(descriptor, name)
        with SoundFile(descriptor, closefd=False, **options) as sound:
            after = {} if options or sound.seekable() else _endless(sound)
            count = 0 if after else (yield from _read(sound, name))
            known = not options and sound.frames < ENDLESS
            again = file if sound.seekable() and file != PIPE else None
            lost = missing(again, sound.extra_info, sound.frames - count) if known and not after else ""
        if after:
            with SoundFile(descriptor, closefd=False, **after) as sound:
                yield from _read(sound, name)
    except (SoundFileError, RuntimeError, OSError) as error:
        hint = "" if options else HINT
        raise InputError(f"{name} cannot be read as sound: {error}{hint}") from error
    finally:
        if descriptor:
            os.close(descriptor)
    if lost:
        raise InputError(f"{name} is truncated: {lost}")


def _check_no_header(descriptor: int, name: str) -> None:
    """Check that a file of raw samples has no header; a pipe cannot be checked.

    Raises:
        InputError: If it has.
    """
    begin = b""
    with suppress(OSError):
        begin = os.pread(descriptor, 4, os.lseek(descriptor, 0, os.SEEK_CUR))
    if begin in HEADERS:
        raise InputError(f"{name} begins with {begin.decode()!r}, a header: leave --raw-rate out")


def _read(sound: Any, name: str) -> Generator[Block, None, int]:
    """Yield what libsndfile reads; return the number of samples."""
    size, count = max(1, sound.samplerate * BLOCK // 1000), 0
    while len(samples := sound.read(size, dtype="float32", always_2d=True)):
        block = torch.from_numpy(samples)
        bad = (~block.isfinite()).any(1).nonzero()
        if len(bad):
            place = int(bad[0])
            yield Block(block[:place], sound.samplerate)
            raise InputError(f"{name}: {block[place].tolist()} at sample {count + place}: samples are finite")
        count += len(samples)
        yield Block(block, sound.samplerate)
    return count


def _endless(sound: Any) -> dict[str, Any]:
    """Return the raw format of a WAV whose header was written before its length was known; empty for others."""
    width = WIDTHS.get(sound.subtype, 0) * sound.channels
    if sound.format not in ("WAV", "WAVEX") or not width or 0 < width * sound.frames < ENDLESS:
        return {}
    return _headless(sound.samplerate, sound.channels, sound.subtype, "LITTLE")


def _headless(rate: int, channels: int, subtype: str, endian: str) -> dict[str, Any]:
    return {"format": "RAW", "samplerate": rate, "channels": channels, "subtype": subtype, "endian": endian}


class AudioStream:
    """Audio stream that is read in a background thread, so that none is lost while a model is loaded or computes.

    A context manager: it stops at the end.

    Args:
        sound: its blocks.
    """

    def __init__(self, sound: Iterator[Block]) -> None:
        self.sound = sound
        self.queue: SimpleQueue[Block | Exception | None] = SimpleQueue()  # put by a signal handler, too
        self.free = Semaphore(WAITING)
        self.stopped = False
        Thread(target=self._fetch, daemon=True).start()

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks, until the stream ends, fails, or is stopped."""
        while (block := self._next()) is not None and not self.stopped:
            if isinstance(block, Exception):
                raise block
            self.free.release()
            yield block

    def stop(self) -> None:
        """Stop, and drop the buffer; a signal handler may call this, as it takes no lock."""
        self.stopped = True
        self.queue.put(None)

    def __enter__(self) -> "AudioStream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.free.release()

    def _next(self) -> Block | Exception | None:
        while True:
            with suppress(Empty):  # a signal that comes just before the waiting begins does not end it
                return self.queue.get(timeout=0.1)

    def _fetch(self) -> None:
        end = None
        try:
            for block in self.sound:
                self.free.acquire()
                if self.stopped:
                    return
                self.queue.put(block)
        except Exception as error:  # raised where the blocks are read
            end = error
        self.queue.put(end)
