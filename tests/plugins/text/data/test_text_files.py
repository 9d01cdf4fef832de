"""Files of text: how they are found, decompressed and told apart."""

import gzip
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from zoo.errors import DataError, MissingLibraryError
from zoo.plugins.text.data.text_files import ending, lines, locate, signature, text_size

Write = Callable[[str, str | bytes], Path]
TEXT = "".join(f"line {number} größer\n" for number in range(20_000))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def refused(text: str) -> "pytest.RaisesExc[DataError]":
    return pytest.raises(DataError, match=re.escape(text))


def test_files_are_found_one_two_or_in_a_folder_by_part(write: Write, tmp_path: Path) -> None:
    one, other = write("a.en", "x"), write("a.de", "y")
    assert locate(str(one)) == {"train": (one,)}
    assert locate(f"{one},{other}") == {"train": (one, other)}
    with refused(f"there is no file {str(tmp_path / 'none.tsv')!r}"):
        locate(str(tmp_path / "none.tsv"))
    assert locate(f"{tmp_path}/a.*") == {"train": (other, one)}
    with refused(f"no file matches '{tmp_path}/b.*': '{tmp_path}' has a.de, a.en"):
        locate(f"{tmp_path}/b.*")
    with refused(f"no file matches '{tmp_path}/c/*': there is no folder '{tmp_path}/c'"):
        locate(f"{tmp_path}/c/*")
    with refused("has no file for training, such as train.tsv, and no other file that ends in one of .txt, .tsv"):
        locate(str(tmp_path))
    train, valid = write("train.tsv", "a\tb"), write("valid.tsv", "a\tb")
    assert locate(str(tmp_path)) == {"train": (train,), "validation": (valid,)}
    write("train.csv", "")
    with refused("has several files for train: train.csv, train.tsv"):
        locate(str(tmp_path))


def test_the_two_files_of_a_part_are_found_by_their_languages(write: Write, tmp_path: Path) -> None:
    de, en, test = write("train.de", "x"), write("train.en", "x"), write("test.en", "x")
    found = locate(str(tmp_path), ("en", "de"))
    assert found == {"train": (en, de), "test": (test,)}
    with refused("name two languages"):
        locate(str(tmp_path))


def test_a_name_with_the_marks_of_a_pattern_is_a_name_first(write: Write, tmp_path: Path) -> None:
    odd = write("a[1].txt", "x")
    write("a1.txt", "y")
    assert locate(str(odd)) == {"train": (odd,)}


def test_a_folder_whose_files_are_no_parts_is_read_whole(write: Write, tmp_path: Path) -> None:
    deep, first = write("b/one.jsonl.zst", "x"), write("a.txt.gz", "x")
    write("empty.txt", "")
    write("README.md", "x")
    assert locate(str(tmp_path)) == {"train": (first, deep)}
    write("test.txt", "x")
    with refused("has no file for training, such as train.tsv"):
        locate(str(tmp_path))


def compress(ending: str, content: bytes) -> bytes:
    checked = zstandard.ZstdCompressor(write_checksum=True)  # as the command zstd does
    return {"": bytes, ".gz": gzip.compress, ".zst": checked.compress}[ending](content)


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_lines_are_those_of_the_text_whatever_the_compression(write: Write, compression: str) -> None:
    halves = TEXT[:7000].encode(), TEXT[7000:].encode()
    path = write(f"a.txt{compression}", b"".join(compress(compression, half) for half in halves))
    assert "".join(f"{line}\n" for _, line in lines(path)) == TEXT
    assert ending(path) == ".txt"
    assert text_size([path]) == path.stat().st_size * (5 if compression else 1)


@pytest.mark.parametrize("compression", [".gz", ".zst"])
def test_a_compressed_file_that_is_broken_is_named(write: Write, compression: str) -> None:
    whole = compress(compression, TEXT.encode())
    changed = bytearray(whole)
    at = -8 if compression == ".gz" else len(whole) // 2  # the checksum at the end, the data
    changed[at] ^= 255
    for content in (whole[: len(whole) // 2], bytes(changed), b"no archive"):
        with pytest.raises(DataError, match=rf"a.txt{compression} is broken behind line \d+: .*; copy or download it"):
            list(lines(write(f"a.txt{compression}", content)))


def test_a_library_that_is_missing_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingLibraryError, match=r"a.txt.zst needs zstandard: pip install 'attention-zoo\[text\]'"):
        list(lines(write("a.txt.zst", compress(".zst", b"x"))))


def test_lines_of_another_encoding_are_named(write: Write) -> None:
    path = write("a.txt.gz", gzip.compress("größer\n".encode() + "größer\n".encode("latin-1")))
    with refused("a.txt.gz:2: no UTF-8, invalid"):
        list(lines(path))


def test_a_file_added_removed_or_written_to_changes_the_signature(write: Write, tmp_path: Path) -> None:
    one, other = write("a.txt", "x"), write("b/b.txt", "y")
    before = signature({"train": (one, other)})
    assert signature({"train": (one, other)}) == before
    assert signature({"train": (one,)}) != before
    assert signature({"train": (one,), "test": (other,)}) != before
    os.utime(other, ns=(1, 1))
    assert signature({"train": (one, other)}) != before
    moved = tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert signature({"train": (moved / "a.txt", moved / "b/b.txt")}) == [before[0], "train b/b.txt 1 1"]
