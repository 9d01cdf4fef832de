"""The folder of a training: the model as `zoo.create` reads it, checkpoints to go on from, a record, a figure."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from zoo.data.corpus import Corpus
from zoo.errors import ConfigError, DataError, WeightsError
from zoo.training import checkpoint
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.callbacks.loss_curve import Curve, draw
from zoo.training.checkpoint import Snapshot
from zoo.training.train_state import Outcome
from zoo.version import __version__
from zoo.weights import checkpoint as weights

RECORD, STATE, FIGURE = "training.json", "state", "losses.png"
CURVE = "curve"
"""What a checkpoint calls the losses that were gathered."""
OURS = (RECORD, STATE, FIGURE, "model.safetensors", "config.json", "tokenizer.json", "labels.json")
LEFT = (".writing-", ".saving-", f".{FIGURE}")
"""How files begin that a killed training leaves half written."""
OFTEN = 120.0
"""Seconds after which a checkpoint is written, besides those at each validation."""
_DRAWN = 15.0
"""Seconds between two figures, which take one to draw."""


class Keeper(Callback):
    """Write the folder of a training while it runs.

    Args:
        folder: where to.
        model: what is trained.
        corpus: what it is trained on.
        facts: of the training, for its record: how it could be repeated.
        curve: gathers the loss.
        often: seconds between checkpoints.
    """

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        corpus: Corpus,
        facts: Mapping[str, Any],
        curve: Curve,
        often: float = OFTEN,
    ) -> None:
        self.folder, self.model, self.corpus, self.curve = folder, model, corpus, curve
        self.facts = dict(facts)
        self.often = often
        self.saved = self.drawn = time.monotonic()

    def begun(self, outcome: Outcome) -> None:
        """Make the folder ready, so that its model can be used from the first validation on."""
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self.record(outcome)  # first, since it marks the folder as ours
            if not outcome.history:
                save_corpus(self.corpus, self.folder)

    def stepped(self, step: int, loss: Tensor) -> None:
        """Gather the loss."""
        self.curve.add(step, loss)

    def validated(self, outcome: Outcome) -> None:
        """Save the model if it is the best so far."""
        if outcome.best_step == outcome.steps:
            self.save_model()
        self.record(outcome)
        if time.monotonic() - self.drawn >= _DRAWN:
            self.draw(outcome)

    def wish(self) -> Request:
        """Ask for a checkpoint where the last is long ago."""
        return Request(save=time.monotonic() - self.saved >= self.often)

    def save(self, snapshot: Snapshot) -> None:
        """Write a checkpoint."""
        facts = snapshot.facts | {CURVE: self.curve.to_dict()}
        checkpoint.write(self.folder / STATE, replace(snapshot, facts=facts))
        self.saved = time.monotonic()

    def save_model(self) -> None:
        """Save the model as it is."""
        weights.save(self.model, self.folder, getattr(self.corpus, "preparation", None))

    def draw(self, outcome: Outcome) -> None:
        """Draw the figure."""
        with _writing(self.folder):
            draw(self.folder / FIGURE, outcome, self.corpus.metric, self.curve)
        self.drawn = time.monotonic()

    def record(self, outcome: Outcome, scores: Mapping[str, float] | None = None) -> None:
        """Write what is known: settings, history, and at the end the scores."""
        done = {
            "steps_done": outcome.steps,
            "best_step": outcome.best_step,
            "ended": outcome.ended if scores is not None else "running",
            "seconds": round(outcome.seconds, 2),
            "history": [{"step": e.step, "loss": e.loss, **e.scores} for e in outcome.history],
        }
        curve = self.curve.to_dict()
        losses = {"losses": [*zip(curve["steps"], curve["losses"], strict=True)]}
        known = {"zoo_version": __version__, **self.facts, **done, "test": dict(scores or {}), **losses}
        with _writing(self.folder):
            checkpoint.write_text(self.folder / RECORD, json.dumps(known, indent=1) + "\n")


def save_corpus(corpus: Corpus, folder: Path) -> None:
    """Save vocabulary and names of labels, each file whole or not there."""
    with tempfile.TemporaryDirectory(prefix=LEFT[0], dir=folder) as scratch:
        corpus.save(Path(scratch))
        for path in sorted(Path(scratch).iterdir()):
            with path.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(path, folder / path.name)


def refuse_existing(folder: Path, resume: bool, overwrite: bool, begins: Sequence[Any] = ()) -> None:
    """Refuse to train into what holds something already.

    Args:
        folder: where to.
        resume: whether to go on with the training it holds.
        overwrite: whether to remove the training it holds.
        begins: model and weights to begin from, which must not lie in the folder.

    Raises:
        ConfigError: If it holds what no training wrote, or a training, and neither going on nor beginning anew was
            asked for; or if the training would write over what it begins from.
        DataError: If it is no folder, or cannot be written.
    """
    if resume and overwrite:
        raise ConfigError("resume and overwrite: one goes on with what the other removes, give one of them")
    refuse_unwritable(folder)
    for begin in begins:
        if isinstance(begin, str | Path) and _is_inside(begin, folder):
            raise ConfigError(f"{str(begin)!r} lies in out={str(folder)!r}, which is written over: give another out")
    if not folder.exists() or all(path.name.startswith(LEFT) for path in folder.iterdir()):
        return
    if not _is_training(folder):
        raise ConfigError(f"out={str(folder)!r} holds something that is no training: give an empty or a new folder")
    if not resume and not overwrite:
        raise ConfigError(
            f"out={str(folder)!r} holds a training: --resume goes on with it, --overwrite begins anew and removes it"
        )


def refuse_unwritable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written; nothing is made.

    Raises:
        DataError: If it is such.
    """
    there = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
    out = f"out={str(folder)!r}"
    if not there.is_dir():
        raise DataError(f"{out} is no folder" if there == folder else f"{out}: {str(there)!r} is no folder")
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        raise DataError(f"{out}: nothing can be written in {str(there)!r}, see its permissions")


def clear(folder: Path) -> None:
    """Remove what a training wrote, and nothing else."""
    for name in OURS:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def read_record(folder: Path) -> dict[str, Any]:
    """Read what is known of a training; empty if there is none.

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


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Name the folder where something cannot be written, as on a disk that is full."""
    try:
        yield
    except OSError as error:
        raise WeightsError(f"out={str(folder)!r} cannot be written: {error}") from error


def _is_training(folder: Path) -> bool:
    try:
        return "zoo_version" in read_record(folder)
    except WeightsError:
        return False


def _is_inside(name: str | Path, folder: Path) -> bool:
    """Tell whether a file, folder or `local-dir:` lies in a folder."""
    path = Path(str(name).removeprefix("local-dir:")).expanduser().resolve()
    return path.exists() and path.is_relative_to(folder.resolve())


def refuse_other(record: Mapping[str, Any], facts: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on with a training that was set differently.

    Raises:
        ConfigError: If it was; the text lists what differs.
    """
    before, now = _flat(record), _flat(json.loads(json.dumps(facts)))
    differ = [key for key in now if key != "command" and before.get(key) != now[key]]
    if differ:
        lines = [f"  {key}: {before.get(key)!r} before, {now[key]!r} now" for key in differ]
        told = [f"Its command was: {record['command']}"] if record.get("command") else []
        if "steps" in differ:
            told.append(
                "The learning rate follows the number of steps, so that with another the training is another: to train "
                f"on from what was learned, begin from weights={str(folder)!r} (--weights) into another out"
            )
        first = f"the training in {str(folder)!r} was another, and goes on as it began:"
        raise ConfigError("\n".join([first, *lines, *told]))


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write settings beside the other facts."""
    flat = {key: value for key, value in facts.items() if key != "settings"}
    return flat | dict(facts.get("settings", {}))
