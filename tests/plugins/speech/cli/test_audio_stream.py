"""Sounds that arrive: from files, FIFOs and standard input, with headers that know their length and with none."""

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from torch import Tensor

from zoo.errors import ConfigError, InputError
from zoo.plugins.speech.cli.audio_stream import FORMATS, WAITING, AudioStream, Block, Raw, blocks
from zoo.plugins.speech.io.audio_files import read

Write = Callable[..., Path]
Piped = Callable[[bytes], str]


@pytest.fixture
def fifo(tmp_path: Path) -> Piped:
    """Make a FIFO into which something writes, and give its path."""

    def make(data: bytes) -> str:
        path = tmp_path / "fifo"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
        return str(path)

    return make


@pytest.fixture(params=["fifo", "stdin"])
def piped(request: pytest.FixtureRequest) -> Piped:
    """Pipe something, one way or the other."""
    made: Piped = request.getfixturevalue(request.param)
    return made


def taken(found: Iterator[Block]) -> tuple[Tensor, int]:
    """Give all samples, and their rate."""
    parts = list(found)
    return torch.cat([part.samples for part in parts]), parts[0].rate


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg"])
def test_a_header_is_not_read_as_samples(write: Write, name: str) -> None:
    with pytest.raises(InputError, match=r"begins with '....', a header: leave --raw-rate out"):
        next(blocks(str(write(name)), Raw(8_000)))


def with_length(wav: bytes, length: int, inside: bytes = b"") -> bytes:
    """Write another length, and perhaps a chunk, into the header of a WAV."""
    at = wav.index(b"data")
    return (
        wav[:4] + struct.pack("<I", length) + wav[8:at] + inside + b"data" + struct.pack("<I", length) + wav[at + 8 :]
    )


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg"])
def test_a_file_comes_in_blocks_as_it_is_read_whole(write: Write, name: str) -> None:
    path = write(name, seconds=0.33, rate=11_025, channels=2)
    parts = list(blocks(str(path)))
    assert [len(part.samples) for part in parts[:3]] == [1_102] * 3
    samples, rate = taken(iter(parts))
    whole, own = read(path)
    assert torch.equal(samples, whole)
    assert rate == own


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "FLOAT", "ULAW"])
@pytest.mark.parametrize("length", [None, 0, 0x7FFFF000, 0x7FFFFF24, 0xFFFFFFFF])
def test_a_wav_is_read_from_a_pipe_whatever_length_its_header_tells(
    write: Write, fifo: Piped, subtype: str, length: int | None
) -> None:
    path = write("a.wav", seconds=0.25, rate=44_100, channels=2, subtype=subtype)
    data = path.read_bytes()
    whole, _ = read(path)
    samples, rate = taken(blocks(fifo(data if length is None else with_length(data, length))))
    assert torch.equal(samples, whole)
    assert rate == 44_100


def test_what_recorders_say_of_themselves_is_no_sound(write: Write, piped: Piped) -> None:
    path = write("a.wav", format="WAV", subtype="PCM_16")
    said = b"LIST" + struct.pack("<I", 26) + b"INFOISFT" + struct.pack("<I", 14) + b"Lavf60.16.100\0"
    data = with_length(path.read_bytes(), 0xFFFFFFFF, said)
    assert torch.equal(taken(blocks(piped(data)))[0], read(path)[0])


def test_what_stands_behind_the_samples_is_no_sound(write: Write, stdin: Piped) -> None:
    path = write("a.wav")
    assert torch.equal(taken(blocks(stdin(path.read_bytes() + b"LIST" + bytes(100))))[0], read(path)[0])


@pytest.mark.parametrize("form", FORMATS)
def test_samples_without_a_header_are_read_in_each_format(
    write: Write, stdin: Piped, form: str, tmp_path: Path
) -> None:
    subtype, endian = FORMATS[form]
    samples = np.sin(np.arange(2_000).reshape(-1, 2) / 9) / 2
    path = tmp_path / "a.raw"
    soundfile.write(path, samples, 22_050, subtype=subtype, endian=endian, format="RAW")
    raw = Raw(22_050, form, 2)
    for file in (str(path), stdin(path.read_bytes())):
        found, rate = taken(blocks(file, raw))
        np.testing.assert_allclose(found, samples, atol=0.03 if form in ("mulaw", "alaw", "u8", "s8") else 1e-4)
        assert rate == 22_050


def test_a_pipe_that_ends_before_its_header_says_so_is_told_behind_what_came(write: Write, piped: Piped) -> None:
    found, come = blocks(piped(write("a.wav", seconds=0.2).read_bytes()[:-1_000])), 0
    with pytest.raises(InputError, match="is truncated: 500 samples are missing"):  # noqa: PT012
        for block in found:
            come += len(block.samples)
    assert come == 2_700


@pytest.mark.parametrize(
    ("name", "text"), [("a.wav", "header tells of 96000 bytes"), ("a.ogg", "last page is missing")]
)
def test_a_file_without_its_end_is_told_behind_what_came(write: Write, name: str, text: str) -> None:
    path = write(name, seconds=3.0)
    path.write_bytes(path.read_bytes()[:-1_000])
    with pytest.raises(InputError, match=rf"'{path}' is truncated: .*{text}"):
        list(blocks(str(path)))


def test_a_sample_that_is_not_finite_is_told_by_its_place_behind_what_came(tmp_path: Path) -> None:
    samples = np.zeros((3_000, 2), dtype="<f4")
    samples[2_000, 1] = np.nan
    (tmp_path / "a.raw").write_bytes(samples.tobytes())
    found, come = blocks(str(tmp_path / "a.raw"), Raw(16_000, "f32le", 2)), 0
    with pytest.raises(InputError, match=r"a.raw': \[0.0, nan\] at sample 2000: samples are finite"):  # noqa: PT012
        for block in found:
            come += len(block.samples)
    assert come == 2_000


@pytest.mark.parametrize(
    "data", [b"", b"this is a text, and it is long enough for a header of any kind", b"fLaC" + bytes(99)]
)
def test_what_is_no_sound_is_refused_with_the_way_on(stdin: Piped, data: bytes) -> None:
    with pytest.raises(InputError, match=r"what is piped in cannot be read as sound: .* needs --raw-rate, and ffmpeg"):
        list(blocks(stdin(data)))


def test_nothing_piped_in_and_no_file_are_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.isatty", lambda descriptor: descriptor == 0)
    with pytest.raises(InputError, match="nothing is piped in: arecord"):
        blocks("-")
    with pytest.raises(InputError, match="There is no file 'missing'"):
        blocks("missing")
    with pytest.raises(InputError, match=f"'{tmp_path}' cannot be read as sound"):
        list(blocks(str(tmp_path)))


@pytest.mark.parametrize(
    ("raw", "error", "text"),
    [
        (Raw(16_000, "S16_LE"), ConfigError, "--raw-format S16_LE is not one of u8, s8, s16le"),
        (Raw(16_000, channels=0), ConfigError, "--raw-channels 0: one sound has 1 to 32"),
        (Raw(16), InputError, "rate=16 is no rate"),
    ],
)
def test_samples_that_nobody_records_are_refused(raw: Raw, error: Any, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(bytes(100))
    with pytest.raises(error, match=text):
        blocks(str(tmp_path / "a.raw"), raw)


def numbered(count: int) -> Iterator[Block]:
    for number in range(count):
        yield Block(torch.full((1, 1), float(number)), 16_000)


def test_blocks_are_given_in_their_order_and_an_error_behind_those_before() -> None:
    def failing() -> Iterator[Block]:
        yield from numbered(3)
        raise InputError("lost")

    with AudioStream(numbered(2 * WAITING)) as stream:
        assert [int(block.samples) for block in stream] == list(range(2 * WAITING))
    come = []
    with pytest.raises(InputError, match="lost"), AudioStream(failing()) as stream:  # noqa: PT012
        for block in stream:
            come.append(int(block.samples))
    assert come == [0, 1, 2]


def test_who_is_late_finds_a_minute_of_blocks_and_not_more() -> None:
    made = []

    def source() -> Iterator[Block]:
        for block in numbered(3 * WAITING):
            made.append(block)
            yield block

    with AudioStream(source()) as stream:
        iterator = iter(stream)
        for taken in range(1, 5):
            next(iterator)
            while len(made) < WAITING + taken + 1:  # one waits for room
                time.sleep(0.001)
            assert stream.queue.qsize() == WAITING


def test_a_sound_that_is_stopped_gives_nothing_more() -> None:
    with AudioStream(numbered(WAITING)) as stream:
        iterator = iter(stream)
        assert int(next(iterator).samples) == 0
        stream.stop()
        assert list(iterator) == []


def test_a_signal_that_comes_while_room_is_made_can_stop_the_sound() -> None:
    with AudioStream(numbered(1)) as stream:
        stopping = threading.Thread(target=stream.stop, daemon=True)
        with stream.free._cond:  # type: ignore[attr-defined]  # what `release` holds
            stopping.start()
            stopping.join(5)
            assert not stopping.is_alive()


def test_who_waits_for_room_ends_with_the_sound() -> None:
    before = set(threading.enumerate())
    with AudioStream(numbered(2 * WAITING)) as stream:
        (fetching,) = set(threading.enumerate()) - before
        while stream.queue.qsize() < WAITING:
            time.sleep(0.001)
        stream.stop()
    fetching.join(5)
    assert not fetching.is_alive()
