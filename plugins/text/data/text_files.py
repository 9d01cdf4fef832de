"""The user's files of text: found by path, glob or folder, plain or compressed, and their lines."""

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo import DataError, MissingLibraryError

PARTS = {"train": ("train",), "validation": ("validation", "valid", "dev", "val"), "test": ("test",)}
"""The parts of a folder, and the names their files may have."""
TABLES = (".tsv", ".csv", ".jsonl")
TEXTS = (".txt", *TABLES, ".conll", ".conllu", ".iob")
"""Endings of what is read of a folder whose files are not named by part."""
_COMPRESSED = (".gz", ".zst")
_EXPANSION = 5
"""About how many times its size the text of a compressed file has."""


def locate(place: str, languages: Sequence[str] = ()) -> dict[str, tuple[Path, ...]]:
    """Find the files: one, those of a comma list or of a glob, for `train` alone; or those of a folder.

    A folder has a file for each part, such as train.tsv and test.tsv; else all of its texts are for `train`.

    Args:
        place: a path, several, or a pattern such as `corpus/**/*.txt.gz`.
        languages: endings of the two files of each part, where a folder has such.

    Raises:
        DataError: If there is no such file, or the folder does not say which is which.
    """
    path = Path(place).expanduser()
    if path.is_dir():
        return _locate_parts(path, languages)
    if not path.exists() and any(mark in place for mark in "*["):
        found = _filled(map(Path, glob.glob(str(path), recursive=True)))
        if not found:
            raise DataError(f"no file matches {place!r}{_nearby(path)}")
        return {"train": found}
    paths = (path,) if path.exists() or "," not in place else tuple(Path(one).expanduser() for one in place.split(","))
    for one in paths:
        if not one.is_file():
            raise DataError(f"there is no file {str(one)!r}")
    return {"train": paths}


def ending(path: Path) -> str:
    """Give the ending of a file, such as `.tsv`, before that of its compression."""
    plain = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return plain.suffix.lower()


def text_size(paths: Sequence[Path]) -> int:
    """Estimate the bytes of text: those of the files, five times as many of compressed ones."""
    return sum(path.stat().st_size * (_EXPANSION if path.suffix.lower() in _COMPRESSED else 1) for path in paths)


def signature(files: Mapping[str, Sequence[Path]]) -> list[str]:
    """Give what changes when a file is added, removed or written to: names, sizes and times of change."""
    every = [path.absolute() for paths in files.values() for path in paths]
    root = os.path.commonpath([path.parent for path in every])
    told = []
    for part, paths in files.items():
        for path in paths:
            stat = path.stat()
            told.append(f"{part} {os.path.relpath(path.absolute(), root)} {stat.st_size} {stat.st_mtime_ns}")
    return told


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file with their numbers, from 1; a file that ends in .gz or .zst is decompressed.

    Raises:
        DataError: If the file cannot be read, or a line is no UTF-8.
        MissingLibraryError: If the library for .zst is not installed.
    """
    number = 0
    try:
        with _opened(path) as file:
            for number, raw in enumerate(file, 1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield number, raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: no UTF-8, {error.reason} at byte {error.start} of the line") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is broken behind line {number}: {error}; copy or download it again") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _opened(path: Path) -> io.BufferedIOBase:
    compression = path.suffix.lower()
    if compression == ".gz":
        return gzip.open(path)
    return io.BufferedReader(_Zstandard(path), 1 << 20) if compression == ".zst" else path.open("rb")


class _Zstandard(io.RawIOBase):
    """Read a .zst file of one or several frames; the library's own reader takes a file that is cut off for whole.

    Raises:
        EOFError: If it ends within a frame, or is none.
        MissingLibraryError: If the library is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise MissingLibraryError(f"{path} needs zstandard: pip install 'attention-zoo[text]'") from error
        self._library: Any = zstandard
        self._file = path.open("rb")
        self._frame: Any = None
        self._rest, self._given = b"", b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._given:
            raw, self._rest = self._rest or self._file.read(1 << 17), b""
            if not raw and self._frame is not None:
                raise EOFError("it ends within a compressed frame")
            if not raw:
                return 0
            self._frame = self._frame or self._library.ZstdDecompressor().decompressobj()
            try:
                self._given = self._frame.decompress(raw)
            except self._library.ZstdError as error:
                raise EOFError(str(error)) from error
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._given))
        buffer[:count], self._given = self._given[:count], self._given[count:]
        return count


def _locate_parts(folder: Path, languages: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    found = {}
    for part, stems in PARTS.items():
        files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.split(".")[0] in stems)
        if languages and not any(ending(file) in TABLES for file in files):
            files = [file for language in languages for file in files if ending(file) == f".{language}"]
        if len(files) > max(1, len(languages)):
            names = ", ".join(file.name for file in files)
            raise DataError(f"{folder} has several files for {part}: {names}; give one, or name two languages")
        if files:
            found[part] = tuple(files)
    if found and "train" not in found:
        raise DataError(f"{folder} has no file for training, such as train.tsv")
    return found or {"train": _texts(folder)}


def _texts(folder: Path) -> tuple[Path, ...]:
    found = _filled(path for path in folder.rglob("*") if ending(path) in TEXTS)
    if not found:
        raise DataError(
            f"{folder} has no file for training, such as train.tsv, and no other file that ends in one of "
            f"{', '.join(TEXTS)}, or these with .gz or .zst"
        )
    return found


def _filled(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Give the files in order; of many, those without a byte are nothing."""
    return tuple(sorted(path for path in paths if path.is_file() and path.stat().st_size))


def _nearby(pattern: Path) -> str:
    """Tell what there is beside what a pattern looks for."""
    folder = pattern.parent
    if any(mark in str(folder) for mark in "*["):
        return ""
    if not folder.is_dir():
        return f": there is no folder {str(folder)!r}"
    names = sorted(path.name for path in folder.iterdir())
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f": {str(folder)!r} has {shown or 'no files'}"
