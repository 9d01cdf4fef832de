"""Files of tables: found by glob, parted by their names, and identified by path, size and time of change."""

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.data.splits import fingerprint
from zoo.errors import DataError

NAMES = {"train": ("train", "training"), "validation": ("validation", "valid", "val", "dev"), "test": ("test",)}
"""What the parts are called."""
Files = Mapping[str, Sequence[Path]]


def part_of(name: str) -> str:
    """Give the part that a name begins or ends with, such as `train-00000-of-00002`; empty where it is none."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    return next((part for part, known in NAMES.items() if {*words[:1], *words[-1:]} & set(known)), "")


def locate_files(source: str, place: str, options: Mapping[str, str]) -> dict[str, tuple[Path, ...]]:
    """Find the files of each part.

    Where each file is named after a part, as `train-00000.parquet`, or lies in a folder of its name, as `val/a.tar`,
    the files are parted so; else all are for training.

    Args:
        source: its name, for errors.
        place: a path, or a glob such as `shards/**/*.parquet`.
        options: may have `validation` and `test`, paths or globs of files for these.

    Raises:
        DataError: If no file matches, or a file is in two parts.
    """
    found = _matches(source, place)
    folders = {name: part for part, names in NAMES.items() for name in names}
    named = {path: part_of(path.stem) or folders.get(path.parent.name.lower(), "") for path in found}
    parted = all(named.values()) and "train" in named.values()
    files = {part: [path for path in found if named[path] == part] for part in NAMES} if parted else {"train": found}
    for part in ("validation", "test"):
        if part in options:
            files[part] = _matches(source, options[part])
    for part, paths in files.items():
        if part != "train" and (twice := set(paths) & set(files["train"])):
            raise DataError(f"{source}:{place}: {str(min(twice))!r} is for training and for {part}")
    return {part: tuple(paths) for part, paths in files.items() if paths}


def signature(files: Files, *further: str) -> str:
    """Give a text that changes when a file is added, removed or written to, or with other texts."""
    return fingerprint([*_signs(files), *further])


def common_root(files: Files) -> Path:
    """Give the folder that all files lie below."""
    return Path(os.path.commonpath([path.absolute().parent for paths in files.values() for path in paths]))


def _signs(files: Files) -> Iterable[str]:
    root = common_root(files)
    for part, paths in files.items():
        for path in paths:
            stat = path.stat()
            yield f"{part} {os.path.relpath(path.absolute(), root)} {stat.st_size} {stat.st_mtime_ns}"


def _matches(source: str, place: str) -> list[Path]:
    path = Path(place).expanduser()
    if path.is_file():
        return [path]
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    files = [each for each in found if each.is_file()]
    if path.is_dir():
        raise DataError(f"{source}: {place!r} is a folder: write a pattern of its files, such as {source}:'{path}/*'")
    if not files:
        raise DataError(f"{source}: no file matches {place!r}")
    return files
