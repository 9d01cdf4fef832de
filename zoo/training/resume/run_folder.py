"""The run folder of a training: its files, the check before writing to it, and resuming from it."""

import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.core.ops import products
from zoo.errors import ConfigError, DataError, WeightsError
from zoo.locking import LOCK, locked
from zoo.training.resume import checkpoint
from zoo.training.resume.checkpoint import Snapshot
from zoo.weights.card import EVALUATION

RECORD, STATE, FIGURE = "training.json", "state", "losses.png"
MODEL, LOGS = "model.safetensors", "logs"
WRITTEN = (
    RECORD,
    STATE,
    FIGURE,
    MODEL,
    "config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "labels.json",
    "source",
    LOGS,
    EVALUATION,
)
UNFINISHED = (".writing-", ".saving-", f".{FIGURE}", LOCK)
"""Prefixes of files that a killed training leaves, half written or as a lock."""

UNENDED = "running"
"""What the record of a training says of its end while there is none."""
_NEW = ("weights", "pretrained")
"""What records of earlier versions do not tell."""
_FREE = ("command", "threads", "products", "workers", "cache", "logger")
"""What may be another when a training is resumed: weights do not depend on it, or a warning tells how."""


@dataclass(frozen=True)
class RunFolder:
    """Folder that a training writes to and may resume from.

    Args:
        path: of the folder; None where nothing is saved.
        resume: whether the training resumes from its newest checkpoint, or starts if there is none.
        overwrite: whether the training in it is removed first.
    """

    path: Path | None
    resume: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.resume and self.path is None:
            raise ConfigError("resume=True without out=: there is no folder to go on from")

    @contextmanager
    def held(self, inputs: Sequence[Any]) -> Iterator[None]:
        """Check that the training may write here, see `check_writable`, and hold the folder's lock.

        Raises:
            FolderInUseError: If another process trains here.
        """
        if self.path is None:
            yield
            return
        _check_access(self.path)
        with locked(self.path):  # before the other checks: what another process writes is no training to overwrite
            check_writable(self.path, self.resume, self.overwrite, inputs)
            yield

    def saved_tokenizer(self) -> str:
        """Return the path of the tokenizer of the training that is resumed; empty if there is none."""
        saved = self.path / "tokenizer.json" if self.resume and self.path is not None else None
        return str(saved) if saved and saved.exists() else ""

    def precision(self, given: str) -> str:
        """Return the precision: what `auto` was when the training began, perhaps on another machine."""
        if given != "auto" or not self.resume or self.path is None:
            return given
        return str(read_record(self.path).get("settings", {}).get("precision", "auto"))

    def clear(self) -> None:
        """Remove the training in the folder, if it is to be overwritten."""
        if self.overwrite and self.path is not None:
            clear(self.path)

    def snapshot(self, facts: Mapping[str, Any]) -> Snapshot | None:
        """Read the newest checkpoint, if the training resumes and there is one.

        Raises:
            ConfigError: If it is of a training with other settings.
        """
        if not self.resume or self.path is None:
            return None
        record = read_record(self.path)
        if record:
            check_same(record, facts, self.path)
            _tell_of_sums(record, facts, self.path)
        return checkpoint.read(self.path / STATE)

    def finished(self) -> dict[str, Any] | None:
        """Read the record of the training that is resumed, if it came to its end and its model is there."""
        if not self.resume or self.path is None or not (self.path / MODEL).exists():
            return None
        record = read_record(self.path)
        return record if record.get("ended", UNENDED) != UNENDED else None


def check_writable(folder: Path, resume: bool, overwrite: bool, inputs: Sequence[Any] = ()) -> None:
    """Check that a training may write to a folder.

    Args:
        folder: of the run.
        resume: whether the training in it is resumed.
        overwrite: whether the training in it is removed.
        inputs: model and weights to start from, which must not lie in the folder.

    Raises:
        ConfigError: If it holds something else than a training, or a training and neither `resume` nor `overwrite` is
            given; or if the training would overwrite the weights it starts from.
        DataError: If it is no folder, or cannot be written.
    """
    if resume and overwrite:
        raise ConfigError("resume and overwrite cannot be combined: give one of them")
    _check_access(folder)
    for each in inputs:
        if isinstance(each, str | Path) and _is_inside(each, folder):
            raise ConfigError(f"{str(each)!r} lies in out={str(folder)!r}, which is written over: give another out")
    if not folder.exists() or all(path.name.startswith(UNFINISHED) for path in folder.iterdir()):
        return
    if not _is_training(folder):
        raise ConfigError(f"out={str(folder)!r} holds files, but no training: give an empty or a new folder")
    if not resume and not overwrite:
        raise ConfigError(
            f"out={str(folder)!r} holds a training: --resume continues it, --overwrite removes it and starts again"
        )


def _check_access(folder: Path) -> None:
    """Check that a folder can be made and written; nothing is made.

    Raises:
        DataError: If it cannot.
    """
    nearest = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
    out = f"out={str(folder)!r}"
    if not nearest.is_dir():
        raise DataError(f"{out} is no folder" if nearest == folder else f"{out}: {str(nearest)!r} is no folder")
    if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        raise DataError(f"{out}: nothing can be written in {str(nearest)!r}, see its permissions")


def clear(folder: Path) -> None:
    """Remove what a training wrote, and nothing else."""
    for name in WRITTEN:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a training; empty if there is none.

    Raises:
        WeightsError: If the file cannot be read.
    """
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{str(path)!r} cannot be read: {error}") from error
    return found


def _is_training(folder: Path) -> bool:
    try:
        return "zoo_version" in read_record(folder)
    except WeightsError:
        return False


def _is_inside(name: str | Path, folder: Path) -> bool:
    """Tell whether a file, folder or `local-dir:` lies in a folder."""
    path = Path(str(name).removeprefix("local-dir:")).expanduser().resolve()
    return path.exists() and path.is_relative_to(folder.resolve())


def check_same(record: Mapping[str, Any], facts: Mapping[str, Any], folder: Path) -> None:
    """Check that a training that is resumed has the same settings.

    Raises:
        ConfigError: If it has not; the text lists what differs.
    """
    before, now = _flat(record), _flat(json.loads(json.dumps(facts)))
    differ = [key for key in now if key not in _FREE and before.get(key, now[key] if key in _NEW else None) != now[key]]
    if differ:
        lines = [f"  {key}: {before.get(key)!r} before, {now[key]!r} now" for key in differ]
        notes = [f"Its command was: {record['command']}"] if record.get("command") else []
        if "fingerprint" in differ:
            notes.append(
                "The fingerprint is that of the data: files were added, removed or written to since, or are read, "
                "split or cut into tokens in another way, as are crops with --cache"
            )
        if "steps" in differ:
            notes.append(
                "The learning rate follows the number of steps, so that with another the training is another: to train "
                f"on from what was learned, begin from weights={str(folder)!r} into another out"
            )
        if (ended := record.get("ended", UNENDED)) != UNENDED:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime((folder / RECORD).stat().st_mtime))
            notes.append(
                f"It was finished on {when} ({ended}, {record.get('steps_done', 0):,} steps), and its model is in the "
                f"folder: to fine-tune that, begin from weights={str(folder)!r} into another out"
            )
        first = f"the training in {str(folder)!r} was another, and goes on as it began:"
        raise ConfigError("\n".join([first, *lines, *notes]))


def _tell_of_sums(record: Mapping[str, Any], facts: Mapping[str, Any], folder: Path) -> None:
    """Warn where a training goes on with what changes the order of its sums: threads, or another way to multiply."""
    for key, variable in (("threads", "OMP_NUM_THREADS"), ("products", products.VARIABLE)):
        now = facts.get(key)
        before = record.get(key, now)
        if before != now and None not in (before, now):  # the rule of products is that of a CPU
            warnings.warn(
                f"the training in {str(folder)!r} had {key}={before} and goes on with {key}={now}: its numbers differ "
                f"from those of a training without interruption; {variable}={before} gives the same",
                stacklevel=2,
            )


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the settings into the other facts."""
    flat = {key: value for key, value in facts.items() if key != "settings"}
    return flat | dict(facts.get("settings", {}))
