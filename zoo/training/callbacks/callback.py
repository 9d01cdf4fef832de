"""`Callback`: what the training loop calls at each step, and what a callback may request of it."""

from typing import NamedTuple

from torch import Tensor

from zoo.training.checkpoint import Snapshot
from zoo.training.train_state import Outcome


class Request(NamedTuple):
    """Ask a running training for a checkpoint, or to end."""

    save: bool = False
    stop: bool = False


class Callback:
    """Base class of callbacks: each method does nothing, and `wish` requests nothing."""

    def begun(self, outcome: Outcome) -> None:
        """Called before the first step, with what an earlier training did."""

    def stepped(self, step: int, loss: Tensor) -> None:
        """Called after each step; reading the loss makes an accelerator wait."""

    def validated(self, outcome: Outcome) -> None:
        """Called after each validation, which is the last of the history."""

    def wish(self) -> Request:
        """Return what is requested after the next step."""
        return Request()

    def save(self, snapshot: Snapshot) -> None:
        """Called with a snapshot after each validation, and when one was requested."""
