"""Saving a training while it runs: the best model for `zoo.create`, checkpoints, a record, a figure."""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from zoo.atomic_write import replace_synced, write_text
from zoo.data.corpus import Corpus
from zoo.errors import WeightsError
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.callbacks.loss_curve import LossCurve, draw
from zoo.training.fine_tuning.low_rank import merged
from zoo.training.resume import checkpoint
from zoo.training.resume.checkpoint import Snapshot
from zoo.training.resume.run_folder import FIGURE, RECORD, STATE, UNENDED, UNFINISHED
from zoo.training.resume.train_state import Outcome
from zoo.version import __version__
from zoo.weights import checkpoint as weights

CURVE = "curve"
"""Key of the loss curve in a checkpoint."""
OFTEN = 120.0
"""Seconds after which a checkpoint is written, besides those at each validation."""
_DRAWN = 15.0
"""Seconds between two figures, which take one to draw."""


class SaveRunFolder(Callback):
    """Save model, checkpoints, record and figure of a training while it runs.

    Args:
        folder: of the run.
        model: the model in training.
        corpus: its data.
        facts: for the record: what is needed to repeat the training.
        curve: collects the loss.
        often: seconds between checkpoints.
    """

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        corpus: Corpus,
        facts: Mapping[str, Any],
        curve: LossCurve,
        often: float = OFTEN,
    ) -> None:
        self.folder, self.model, self.corpus, self.curve = folder, model, corpus, curve
        self.facts = dict(facts)
        self.often = often
        self.saved = self.plotted = time.monotonic()

    def on_start(self, outcome: Outcome) -> None:
        """Create the folder, so that its model can be used from the first validation on."""
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self.record(outcome)  # first, since it marks the folder as a training
            if not outcome.history:
                save_corpus(self.corpus, self.folder)

    def on_step(self, step: int, loss: Tensor) -> None:
        """Add to the loss curve."""
        self.curve.add(step, loss)

    def on_validation(self, outcome: Outcome) -> None:
        """Save the model if it is the best so far."""
        if outcome.best_step == outcome.steps:
            self.save_model()
        self.record(outcome)
        if time.monotonic() - self.plotted >= _DRAWN:
            self.draw(outcome)

    def request(self) -> Request:
        """Request a checkpoint where the last is old."""
        return Request(save=time.monotonic() - self.saved >= self.often)

    def on_checkpoint(self, snapshot: Snapshot) -> None:
        """Write a checkpoint."""
        facts = snapshot.facts | {CURVE: self.curve.to_dict()}
        checkpoint.write(self.folder / STATE, replace(snapshot, facts=facts))
        self.saved = time.monotonic()

    def save_model(self) -> None:
        """Save the model with its present weights."""
        weights.save(merged(self.model), self.folder, getattr(self.corpus, "preparation", None))

    def draw(self, outcome: Outcome) -> None:
        """Draw the figure."""
        with _writing(self.folder):
            metric = outcome.criterion.label(outcome.history[-1].scores) if outcome.history else ""
            draw(self.folder / FIGURE, outcome, metric, self.curve)
        self.plotted = time.monotonic()

    def finish(self, outcome: Outcome, scores: Mapping[str, float] | None) -> None:
        """Draw the figure, and save the best model and its scores; None of a training that goes on later."""
        self.draw(outcome)
        if scores is not None:
            self.save_model()
            self.record(outcome, scores)

    def record(self, outcome: Outcome, scores: Mapping[str, float] | None = None) -> None:
        """Write the record: settings, history, and at the end the test scores."""
        done = {
            "steps_done": outcome.steps,
            "best_step": outcome.best_step,
            "best_by": outcome.best_by,
            "ended": outcome.ended if scores is not None else UNENDED,
            "seconds": round(outcome.seconds, 2),
            "waiting_for_data": round(outcome.waiting_share, 4),
            "history": [{"step": e.step, "loss": e.loss, **e.scores} for e in outcome.history],
        }
        curve = self.curve.to_dict()
        losses = {"losses": [*zip(curve["steps"], curve["losses"], strict=True)]}
        known = {"zoo_version": __version__, **self.facts, **done, "test": dict(scores or {}), **losses}
        with _writing(self.folder):
            write_text(self.folder / RECORD, json.dumps(known, indent=1) + "\n")


def save_corpus(corpus: Corpus, folder: Path) -> None:
    """Save tokenizer and label names, each file complete or not there."""
    with tempfile.TemporaryDirectory(prefix=UNFINISHED[0], dir=folder) as scratch:
        corpus.save(Path(scratch))
        for path in sorted(each for each in Path(scratch).rglob("*") if each.is_file()):
            target = folder / path.relative_to(scratch)
            target.parent.mkdir(exist_ok=True)
            replace_synced(path, target)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Name the folder in the error where a file cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise WeightsError(f"out={str(folder)!r} cannot be written: {error}") from error
