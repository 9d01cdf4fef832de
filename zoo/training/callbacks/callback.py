"""`Callback`: what the training loop calls at each step, and what a callback may request of it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple

from torch import Tensor

from zoo.training.resume.checkpoint import Snapshot
from zoo.training.resume.train_state import Outcome


class Request(NamedTuple):
    """Ask a running training for a checkpoint, or to end."""

    save: bool = False
    stop: bool = False
    """End with a checkpoint, so that `resume` goes on later; nothing is tested."""
    finish: bool = False
    """End for good, as after the last step: validate, load the best checkpoint, test."""


class Callback:
    """Base class of callbacks: each method does nothing, and `request` requests nothing. A context manager.

    Those of `zoo.train(callbacks=[…])` are called in the first process. A training that is resumed makes them anew:
    what they count follows from the outcome, which has the history.
    """

    def on_start(self, outcome: Outcome) -> None:
        """Called before the first step, with the outcome so far of a training that is resumed."""

    def on_step(self, step: int, loss: Tensor) -> None:
        """Called after each step; reading the loss makes an accelerator wait."""

    def on_validation(self, outcome: Outcome) -> None:
        """Called after each validation, which is the last of the history."""

    def request(self) -> Request:
        """Return what is requested after the next step."""
        return Request()

    def on_checkpoint(self, snapshot: Snapshot) -> None:
        """Called with a snapshot after each validation, and when one was requested."""

    def on_end(self, outcome: Outcome, scores: Mapping[str, float]) -> None:
        """Called at the end with the scores on the test examples; without any where the training was stopped."""

    def __enter__(self) -> "Callback":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Called when the training has ended or failed."""


class Callbacks(Callback):
    """Several callbacks as one, entered, called and left together."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks
        self._entered = ExitStack()

    def on_start(self, outcome: Outcome) -> None:
        for each in self.callbacks:
            each.on_start(outcome)

    def on_step(self, step: int, loss: Tensor) -> None:
        for each in self.callbacks:
            each.on_step(step, loss)

    def on_validation(self, outcome: Outcome) -> None:
        for each in self.callbacks:
            each.on_validation(outcome)

    def request(self) -> Request:
        requests = [each.request() for each in self.callbacks]
        return Request(*map(any, zip(*requests, strict=True))) if requests else Request()

    def on_checkpoint(self, snapshot: Snapshot) -> None:
        for each in self.callbacks:
            each.on_checkpoint(snapshot)

    def on_end(self, outcome: Outcome, scores: Mapping[str, float]) -> None:
        for each in self.callbacks:
            each.on_end(outcome, scores)

    def __enter__(self) -> "Callbacks":
        for each in self.callbacks:
            self._entered.enter_context(each)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._entered.__exit__(kind, error, at)
