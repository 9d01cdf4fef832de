"""Sounds that are kept, and sounds that are read again: the same samples; what cannot be read is named."""

import pickle
import sys
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

from zoo.data import Workers, read_ahead
from zoo.plugins.speech.data.audio_store import (
    Files,
    Joined,
    SharedSounds,
    UnreadableError,
    map_in_threads,
    measure_audio,
)
from zoo.plugins.speech.io.preprocess import Preprocess, length_of

Write = Callable[..., Path]
ALL = np.arange(2)


class Listed:
    """Files by their paths."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths
        self.lengths, self.why = measure_audio(self.opened, np.arange(len(paths)))

    def opened(self, row: int) -> Path:
        return self.paths[row]

    def name(self, row: int) -> str:
        return str(self.paths[row])


def test_sounds_lie_one_behind_the_other() -> None:
    sounds = Joined(torch.arange(10, dtype=torch.int16) * 2**10, torch.tensor([3, 0, 7]))
    assert (sounds[0] * 2**5).tolist() == [0, 1, 2]
    assert len(sounds[1]) == 0
    assert (sounds[2] * 2**5).tolist() == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("most", "kept"), [(10**9, 2), (4 * 3_200, 1), (0, 0)])
def test_nothing_is_read_before_it_is_needed_and_as_much_is_kept_as_memory_is_granted(
    write: Write, most: int, kept: int
) -> None:
    paths = [write("a.wav"), write("b.flac", rate=8_000)]
    listed = Listed(*paths)
    assert listed.why == [None, None]
    memory = SharedSounds(listed, most)
    files = Files(memory, ALL)
    assert files.lengths.tolist() == [3_200, 3_200]
    assert not memory.held(ALL).any()
    for _ in range(2):
        for place, path in enumerate(paths):
            assert torch.equal(files[place], Preprocess().samples(path))
    assert memory.held(ALL).sum() == kept
    assert files.reads_files == (kept < 2)


def test_a_sound_that_memory_is_too_small_for_leaves_it_to_others(write: Write) -> None:
    paths = [write("big.wav", seconds=1.0), write("small.wav")]
    memory = SharedSounds(Listed(*paths), 4 * 3_200)
    for row in range(2):
        memory.read(row)
    assert memory.held(ALL).tolist() == [False, True]


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_what_a_forked_process_reads_the_others_have(write: Write) -> None:
    good, half = write("good.flac", subtype="PCM_16"), write("half.flac", subtype="PCM_16")
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    files = Files(SharedSounds(Listed(good, half)), ALL)
    with Workers(files, workers=1), pytest.raises(UnreadableError):
        list(read_ahead(files.__getitem__, [(0,), (1,)]))
    assert files.memory.held(ALL).tolist() == [True, False]
    assert not files.is_broken(0)
    assert files.is_broken(1)
    assert [each.name for each in files.skipped()] == [str(half)]
    other = pickle.loads(pickle.dumps(files))  # as a process that is not forked
    assert not other.memory.held(ALL).any()
    assert torch.equal(other[0], files[0])


def test_what_has_no_header_or_no_end_is_named_without_reading_samples(write: Write, tmp_path: Path) -> None:
    good, half, short = write("good.wav"), write("half.wav"), write("short.wav", seconds=0.02)
    half.write_bytes(half.read_bytes()[:2_000])
    found = Listed(half, good, short, tmp_path / "none.wav")
    assert found.lengths.tolist() == [0, 3_200, 0, 0]
    assert found.why[1] is None
    for row, why in ((0, "truncated"), (2, "shorter than one frame"), (3, "no file")):
        assert why in (found.why[row] or "")


def test_bytes_are_measured_as_files_are(write: Write) -> None:
    path = write("a.flac", rate=8_000)
    assert length_of(BytesIO(path.read_bytes())) == length_of(path) == 3_200


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
def test_the_length_that_a_header_tells_is_that_of_the_samples(rate: int, write: Write) -> None:
    for name in ("some.wav", "some.flac", "some.ogg"):
        path = write(name, rate=rate, seconds=0.217)
        assert length_of(path) == len(Preprocess().samples(path))


def test_things_are_done_at_the_same_time_and_given_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.plugins.speech.data.audio_store.cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=20)

    def change(number: int) -> int:
        both.wait()
        time.sleep(0.01 * (number % 2 == 0))
        return number * number

    assert list(map_in_threads(change, range(130))) == [number * number for number in range(130)]


def test_who_stops_listening_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    source = iter(map_in_threads(done.append, range(1_000)))
    next(source)
    del source
    assert len(done) <= 64
