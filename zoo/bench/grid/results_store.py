"""Results on disk: one JSON line for each finished run, appended whole, keyed by the hash of its configuration."""

import errno
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.bench.grid.products import mixed
from zoo.bench.grid.threads import DEFAULT, VARIABLE, threads_of
from zoo.errors import DataError
from zoo.version import __version__

RESULTS_VERSION = 1
"""Rises when the meaning of a run or of its record changes; results of two versions are never mixed."""


def key_of(config: Mapping[str, Any], threads: int = DEFAULT) -> str:
    """Name a run by the content of its configuration, and by its threads where those are not the default."""
    more = {} if threads == DEFAULT else {VARIABLE: threads}
    text = json.dumps({**config, **more, "results_version": RESULTS_VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _key(record: Mapping[str, Any]) -> str:
    """Give the key of a stored record; old ones have the same key on any number of threads, and tell the number."""
    key: str = record["key"]
    threads = threads_of(record)
    return key_of(record["config"], threads) if threads != DEFAULT and key == key_of(record["config"]) else key


class Store:
    """Keep the results of a study in `results.jsonl` of one folder; the file is made with the first result.

    Args:
        folder: made where it does not exist.
        others: folders whose results are read too, as those of shards; other processes may be writing there.

    Raises:
        DataError: If the folder cannot be written, or holds results of another version or something else, or some
            folders were written by one version of the package and some by another.
    """

    def __init__(self, folder: Path, others: Sequence[Path] = ()) -> None:
        self.folder = folder
        self.path = folder / "results.jsonl"
        self.message = ""
        """What was repaired while reading, and which rules of products computed the results, if several."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.touch()  # tells whether it can be written
            content = self.path.read_bytes()
            if not content:
                self.path.unlink()
        except OSError as error:
            raise DataError(
                f"cannot write results to {folder}: {error.strerror}; choose another folder with --out"
            ) from error
        self._cut_half_line(content)
        self.records: dict[str, dict[str, Any]] = {}
        """Of all folders, by key."""
        each = {self.path: content} | {path: _content(path) for path in (other / self.path.name for other in others)}
        versions: dict[str, Path] = {}
        for path, lines in each.items():
            for record in _records(lines, path):
                versions.setdefault(record.get("zoo_version", ""), path)
                if not (path != self.path and self.succeeded(_key(record))):
                    self.records[_key(record)] = record
        if others:
            _check_versions(versions)
        self.message = "\n".join(filter(None, (self.message, mixed(self.records.values()))))

    def succeeded(self, key: str) -> bool:
        """Tell whether a run finished well."""
        return key in self.records and "error" not in self.records[key]

    def settled(self, key: str) -> bool:
        """Tell whether trying a run (again) would give nothing new: it finished, or it failed for a cause of its own.

        What the machine was to blame for, a lack of memory or a killed worker, is tried again.
        """
        return key in self.records and not self.records[key].get("transient", False)

    def add(self, key: str, config: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Append one run: in a single write, on the disk before this returns.

        Raises:
            DataError: If it cannot be written, as on a full disk; the file stays as it was.
        """
        record = {"version": RESULTS_VERSION, "zoo_version": __version__, "key": key, "config": dict(config), **result}
        line = (json.dumps(record) + "\n").encode()
        try:
            self._append(line)
        except OSError as error:
            raise DataError(
                f"{self.path}: a result cannot be written: {error.strerror}. The {len(self.records)} before it are "
                "safe: make room and run the same command again, which goes on from there"
            ) from error
        self.records[key] = json.loads(line)

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            written = os.write(descriptor, line)
            if written != len(line):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            if not os.fstat(descriptor).st_size:
                self.path.unlink(missing_ok=True)
            os.close(descriptor)

    def _cut_half_line(self, content: bytes) -> None:
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
            self.message = (
                f"{self.path}: the last line was half written ({len(content) - len(whole)} bytes) and was removed; "
                "that run is repeated"
            )


def stored_in(path: Path) -> list[dict[str, Any]]:
    """Read a file of results and change nothing in it; a line that another process is writing is left out.

    Raises:
        DataError: If it cannot be read, or holds results of another version or something else.
    """
    return _records(_content(path), path)


def _records(content: bytes, path: Path) -> list[dict[str, Any]]:
    return [_parse(line, path, number) for number, line in enumerate(content.split(b"\n")[:-1], 1)]


def _parse(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
        version = record["version"]
        if version == RESULTS_VERSION and not (isinstance(record["key"], str) and isinstance(record["config"], dict)):
            raise TypeError("a key and a configuration wanted")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}, line {number}, is not a result; move the file away or choose another --out"
        ) from error
    if version != RESULTS_VERSION:
        raise DataError(
            f"{path} was written by results version {version}, this is version {RESULTS_VERSION}; the two do "
            "not compare: move the file away or choose another --out"
        )
    return record


def _content(path: Path) -> bytes:
    """Read the results of another process; none if it has none yet."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise DataError(f"cannot read the results in {path}: {error.strerror}") from error


def _check_versions(versions: Mapping[str, Path]) -> None:
    """Refuse results of two versions of the package in several folders, since what computes a run may have changed."""
    if len(versions) > 1:
        (first, one), (second, other), *_ = versions.items()
        raise DataError(
            f"{one} was written by zoo {first or 'of an unknown version'}, {other} by zoo "
            f"{second or 'of an unknown version'}: compute all shards by one version, each into an empty folder"
        )
