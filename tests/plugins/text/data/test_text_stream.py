"""Streams of texts: parts by hash, columns in files, gone on with after a stop."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from zoo.data import RaggedIds, hash_fraction
from zoo.errors import DataError
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data import text_stream
from zoo.plugins.text.data.text_files import lines
from zoo.plugins.text.data.text_stream import HELD_OUT, TextStream

BYTES = Tokenizer.byte_level()
LINES = [f"line {number} größer" for number in range(6000)]


def read(paths: Sequence[Path]) -> Iterator[str]:
    return (line for path in paths for _, line in lines(path))


def encode(part: str, texts: Sequence[str]) -> list[RaggedIds]:
    return [BYTES.ragged(list(texts)), RaggedIds([[len(text)] for text in texts])]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the folder of the cache; what is encoded is encoded in this process, so that it can be counted."""
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    use_workers(monkeypatch, 0)
    return tmp_path / "cache" / "texts"


def use_workers(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr(text_stream, "default_workers", lambda shared: workers)


def stream(folder: Path, seed: int = 0, **files: list[str] | None) -> TextStream[str]:
    """Write files and open them; those of None are there."""
    found = {}
    for part, texts in (files or {"train": LINES}).items():
        if texts is not None:
            (folder / part).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        found[part] = (folder / part,)
    return TextStream(found, read, str, seed, "some")


def parts(found: TextStream[str]) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for part, text in found:
        listed[part].append(text)
    return listed


def texts(columns: dict[str, list[RaggedIds]]) -> dict[str, list[str]]:
    return {part: BYTES.decode_batch(rows[place] for place in range(len(rows))) for part, (rows, _) in columns.items()}


def test_a_hundredth_each_is_held_out_and_the_rest_keeps_its_order(tmp_path: Path) -> None:
    found = parts(stream(tmp_path))
    held = {*found["validation"], *found["test"]}
    assert found["train"] == [line for line in LINES if line not in held]
    for part in ("validation", "test"):
        assert len(found[part]) == pytest.approx(HELD_OUT * len(LINES), rel=0.4)
        assert found[part] == [line for line in LINES if line in set(found[part])]
    assert parts(stream(tmp_path, seed=1))["test"] != found["test"]


def test_an_example_stays_in_its_part_when_others_come_or_go(tmp_path: Path) -> None:
    before, fewer = parts(stream(tmp_path)), parts(stream(tmp_path, train=LINES[::2]))
    for part in before:
        assert fewer[part] == [line for line in before[part] if line in set(LINES[::2])]


def test_equal_texts_are_in_one_part(tmp_path: Path) -> None:
    found = parts(stream(tmp_path, train=LINES * 2))
    assert not set(found["train"]) & {*found["validation"], *found["test"]}
    assert not set(found["validation"]) & set(found["test"])


def test_of_what_is_held_out_the_lowest_hashes_are_read_and_the_rest_is_not_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = parts(stream(tmp_path))
    monkeypatch.setattr(text_stream, "MOST", 10)
    few = parts(stream(tmp_path))
    assert few["train"] == whole["train"]
    lowest = sorted(whole["test"], key=lambda line: hash_fraction(line, 0))[:10]
    assert few["test"] == [line for line in whole["test"] if line in lowest]


def test_parts_that_are_given_stay(tmp_path: Path) -> None:
    found = parts(stream(tmp_path, train=LINES, test=["a", "b"]))
    assert found["test"] == ["a", "b"]
    assert len(found["train"]) + len(found["validation"]) == len(LINES)
    assert 30 < len(found["validation"]) < 90


def test_columns_hold_what_was_encoded_once(tmp_path: Path, cache: Path) -> None:
    found = stream(tmp_path)
    columns = found.encoded(encode, "bytes")
    assert texts(columns) == parts(found)
    assert columns["train"][1].flat.tolist() == [len(text) for text in parts(found)["train"]]

    def never(*given: Any) -> Any:
        raise AssertionError("read or encoded again")

    assert texts(TextStream(found.files, never, str, 0, "some").encoded(never, "bytes")) == texts(columns)
    assert sorted(path.suffix for path in cache.iterdir()) == ["", ".lock"]


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_what_was_encoded_before_a_stop_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    monkeypatch.setattr(text_stream, "_BATCH", 20_000)
    monkeypatch.setattr(text_stream, "_EVERY", -1.0)
    counts = [0, 0]

    def stopped(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        counts[0] += 1
        if counts[0] > stop:
            raise KeyboardInterrupt
        return encode(part, examples)

    def go_on(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        counts[1] += len(examples)
        return encode(part, examples)

    found = stream(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        found.encoded(stopped, "bytes")
    assert texts(found.encoded(go_on, "bytes")) == parts(found)
    total = sum(map(len, parts(found).values()))
    assert counts[1] <= total - (stop - 1) * 800


KILLED = """
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("the_tests", sys.argv[1])
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
tests.text_stream._BATCH, tests.text_stream._EVERY = 5_000, -1.0
tests.text_stream.default_workers = lambda shared: 2
def slow(part, examples):
    time.sleep(0.1)
    return tests.encode(part, examples)
tests.stream(Path(sys.argv[2]), train=None).encoded(slow, "bytes")
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_nothing_half_and_is_gone_on_with(tmp_path: Path, cache: Path) -> None:
    found = stream(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", KILLED, __file__, str(tmp_path)], start_new_session=True)
    while process.poll() is None and not list(cache.glob("*.partial/journal.json")):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not [path for path in cache.iterdir() if not path.suffix]
    counts = []

    def go_on(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        counts.append(len(examples))
        return encode(part, examples)

    assert texts(found.encoded(go_on, "bytes")) == parts(found)
    assert sum(counts) < sum(map(len, parts(found).values()))
    assert sorted(path.suffix for path in cache.iterdir()) == ["", ".lock"]


def test_a_disk_that_is_full_is_told_and_what_was_written_is_used(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    found = stream(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"cannot be written: .*; set ZOO_CACHE to a folder that has room"):
            found.encoded(encode, "bytes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert texts(found.encoded(encode, "bytes")) == parts(found)


def test_columns_of_another_version_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = stream(tmp_path)
    found.encoded(lambda part, examples: [RaggedIds([[1]]), RaggedIds([[2]])], "bytes")
    monkeypatch.setattr(text_stream, "_FORMAT", text_stream._FORMAT + 1)
    assert texts(found.encoded(encode, "bytes")) == parts(found)


def test_a_file_that_changes_is_encoded_anew(tmp_path: Path) -> None:
    first, second = stream(tmp_path), stream(tmp_path, train=[*LINES, "one more"])
    assert first.signature != second.signature
    second.encoded(encode, "bytes")
    assert "one more" in texts(second.encoded(encode, "bytes"))["train"]


def test_a_sample_is_of_the_training_alone_and_bounded(tmp_path: Path) -> None:
    found = stream(tmp_path)
    training = parts(found)["train"]
    assert list(found.sample(lambda text: (text,))) == training
    size = sum(len(text.encode()) + 1 for text in LINES)
    sample = list(found.sample(lambda text: (text,), size / 4))
    assert set(sample) <= set(training)
    assert len(sample) == pytest.approx(len(training) / 4, rel=0.2)
    few = list(found.sample(lambda text: (text,) * 10, size / 4))
    assert sum(map(len, few)) < size / 4 + 200


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_encode_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr(text_stream, "_BATCH", 5_000)
    use_workers(monkeypatch, workers)
    found = stream(tmp_path)

    def elsewhere(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        time.sleep(0.01 * (len(examples[0]) % 3))  # so that they end in another order than they begin
        return [BYTES.ragged(list(examples)), RaggedIds([[os.getpid()]] * len(examples))]

    columns = found.encoded(elsewhere, "bytes")
    assert texts(columns) == parts(found)
    processes = set(columns["train"][1].flat.tolist())
    assert len(processes) == workers
    assert os.getpid() not in processes


def test_texts_that_are_too_few_for_a_part_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"some has no example for .*: give a file for it, or more texts that differ"):
        stream(tmp_path, train=["the same"] * 100).encoded(encode, "bytes")


@pytest.mark.parametrize("workers", [0, 2])
def test_columns_that_are_wrong_are_told_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    use_workers(monkeypatch, workers)

    def wrong(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        raise DataError(f"no {examples[0]}")

    with pytest.raises(DataError, match="no line 0"):
        stream(tmp_path).encoded(wrong, "bytes")


def test_a_file_that_is_written_to_while_it_is_read_is_told(tmp_path: Path) -> None:
    found = stream(tmp_path)

    def slow(part: str, examples: Sequence[str]) -> list[RaggedIds]:
        (tmp_path / "train").write_text("another\n")
        return encode(part, examples)

    with pytest.raises(DataError, match="some was written to while it was read: start again when its files are whole"):
        found.encoded(slow, "bytes")
