"""Sounds that are kept, and sounds that are read again: the same samples; what cannot be read is named."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from zoo.plugins.speech.data.audio_store import Files, Joined, index_audio, map_in_threads
from zoo.plugins.speech.io.preprocess import Preprocess

Write = Callable[..., Path]


def test_sounds_lie_one_behind_the_other() -> None:
    sounds = Joined(torch.arange(10, dtype=torch.int16) * 2**10, torch.tensor([3, 0, 7]))
    assert (sounds[0] * 2**5).tolist() == [0, 1, 2]
    assert len(sounds[1]) == 0
    assert (sounds[2] * 2**5).tolist() == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("most", "kept"), [(10**9, 2), (4 * 3_200, 1), (0, 0)])
def test_as_many_are_kept_as_memory_is_granted(write: Write, most: int, kept: int) -> None:
    paths = [write("a.wav"), write("b.flac", rate=8_000)]
    heard = index_audio(paths, most)
    assert len(heard.cached) == kept
    assert not heard.skipped
    files = Files(paths, [heard.lengths[path] for path in paths], heard.cached)
    assert files.lengths.tolist() == [3_200, 3_200]
    for place, path in enumerate(paths):
        assert torch.equal(files[place], Preprocess().samples(path))


def test_a_sound_that_memory_is_too_small_for_leaves_it_to_others(write: Write) -> None:
    big, small = write("big.wav", seconds=1.0), write("small.wav")
    assert list(index_audio([big, small], 4 * 3_200).cached) == [small]


def test_what_cannot_be_read_is_named(write: Write, tmp_path: Path) -> None:
    good, half, short = write("good.wav"), write("half.wav"), write("short.wav", seconds=0.02)
    half.write_bytes(half.read_bytes()[:2_000])
    heard = index_audio([half, good, short, tmp_path / "none.wav"])
    assert list(heard.lengths) == list(heard.cached) == [good]
    assert [path.name for path in heard.skipped] == ["half.wav", "short.wav", "none.wav"]
    for why, path in zip(("truncated", "shorter than one frame", "no file"), heard.skipped, strict=True):
        assert why in heard.skipped[path]


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
