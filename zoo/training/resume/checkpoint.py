"""Checkpoints of a training on disk: safetensors and JSON, nothing pickled, whole or not there at all.

FOLDER/step-00000500/  NAME.safetensors (one for each group of tensors), state.json (all else, and the files' sizes)

A checkpoint is written under another name, forced to the disk, and then renamed: a process may be killed at any moment,
and the machine may lose its power, and what is found is the checkpoint before or the one after.
"""

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from zoo.atomic_write import SCRATCH, sync, umask, write_text
from zoo.errors import WeightsError

_NAME = re.compile(r"step-(\d{8,})")
_STATE = "state.json"


@dataclass(frozen=True)
class Snapshot:
    """Hold a training at one moment."""

    step: int
    tensors: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    """Groups of tensors, such as `model`."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Everything else, as JSON values."""


def write(folder: Path, snapshot: Snapshot, keep: int = 2) -> Path:
    """Add a checkpoint and remove old ones.

    Args:
        folder: of all checkpoints of one training.
        snapshot: what to write; one of the same step is not written again.
        keep: newest checkpoints that stay.

    Raises:
        WeightsError: If the folder cannot be written.
    """
    target = folder / f"step-{snapshot.step:08}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not _is_whole(target):
            shutil.rmtree(target, ignore_errors=True)
            scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
            _fill(scratch, snapshot)
            os.replace(scratch, target)
            sync(folder)
        prune(folder, keep)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"Cannot write the checkpoint {str(target)!r}: {error}") from error
    return target


def read(folder: Path) -> Snapshot | None:
    """Read the newest checkpoint that is whole; None if there is none yet.

    Raises:
        WeightsError: If there are checkpoints and none can be read.
    """
    steps = _steps(folder)
    for path in reversed(steps):
        if _is_whole(path):
            try:
                return _load(path)
            except (OSError, ValueError, KeyError, SafetensorError):
                continue
    if steps:
        raise WeightsError(f"{str(steps[-1])!r} cannot be read, and no older checkpoint can: start with --overwrite")
    return None


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest checkpoints, and what a killed process left half written."""
    for path in [*_steps(folder)[:-keep], *folder.glob(f"{SCRATCH}*")]:
        # The list of files goes first: what is half removed must not look whole.
        (path / _STATE).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)


def _fill(folder: Path, snapshot: Snapshot) -> None:
    """Write all files of a checkpoint; the one that lists the others comes last."""
    sizes = {}
    for name, tensors in snapshot.tensors.items():
        path = folder / f"{name}.safetensors"
        # Cloned, because safetensors refuses tensors that share memory.
        save_file({key: x.detach().cpu().contiguous().clone() for key, x in tensors.items()}, path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        os.chmod(path, 0o666 & ~umask())  # safetensors writes files for their owner alone
        sizes[name] = path.stat().st_size
    text = json.dumps({"step": snapshot.step, "sizes": sizes, "facts": snapshot.facts})
    write_text(folder / _STATE, text)
    os.chmod(folder, 0o777 & ~umask())


def _load(path: Path) -> Snapshot:
    found = json.loads((path / _STATE).read_text(encoding="utf-8"))
    tensors = {name: load_file(path / f"{name}.safetensors") for name in found["sizes"]}
    return Snapshot(found["step"], tensors, found["facts"])


def _steps(folder: Path) -> list[Path]:
    """List the checkpoints, the newest last."""
    named = [(_NAME.fullmatch(path.name), path) for path in folder.glob("step-*")]
    return [path for _, path in sorted((int(match[1]), path) for match, path in named if match)]


def _is_whole(path: Path) -> bool:
    try:
        sizes = json.loads((path / _STATE).read_text(encoding="utf-8"))["sizes"]
        return all((path / f"{name}.safetensors").stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
