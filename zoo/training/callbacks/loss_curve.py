"""Loss curve of a training: collected as means, saved with its checkpoints, and drawn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.atomic_write import atomic_path
from zoo.training.resume.train_state import Outcome, as_json

POINTS = 100
"""Points of the curve: to read one, the device has to be waited for."""


class LossCurve:
    """Loss of a training as means over equal numbers of steps; of several processes, that of the first.

    Args:
        steps: of the training.
        saved: curve of the training that is resumed, as `to_dict` gave it.
    """

    def __init__(self, steps: int, saved: dict[str, Any] | None = None) -> None:
        self.stretch = max(1, round(steps / POINTS))
        self.last = steps
        saved = saved or {}
        self.steps: list[int] = list(saved.get("steps", ()))
        self.losses: list[float] = [float(loss) for loss in saved.get("losses", ())]
        self.total: Tensor | float = (
            torch.tensor(float(saved["total"]), dtype=torch.float64) if "total" in saved else 0.0
        )
        self.count: int = saved.get("count", 0)

    def add(self, step: int, loss: Tensor) -> None:
        """Add the loss of a step; it is read at each point of the curve."""
        loss = loss.detach()
        before = self.total.to(loss) if isinstance(self.total, Tensor) else self.total
        self.total, self.count = before + loss, self.count + 1
        if step % self.stretch == 0 or step == self.last:
            self.steps.append(step)
            self.losses.append(float(self.total) / self.count)
            self.total, self.count = 0.0, 0

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON values, with the mean that is not complete yet."""
        begun = {"total": as_json(float(self.total)), "count": self.count} if self.count else {}
        return {"steps": self.steps, "losses": [as_json(loss) for loss in self.losses], **begun}


def draw(path: Path, outcome: Outcome, metric: str, curve: LossCurve) -> None:
    """Draw the losses and the score by step, where matplotlib is installed."""
    if find_spec("matplotlib") is None or not outcome.history:
        return
    from matplotlib.figure import Figure

    steps = [entry.step for entry in outcome.history]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve.steps, curve.losses, "-", color="tab:blue", linewidth=1, label="training loss")
    if all("loss" in entry.scores for entry in outcome.history):
        losses = [entry.scores["loss"] for entry in outcome.history]
        axes.plot(steps, losses, "s--", color="tab:cyan", label="validation loss")
    axes.set(xlabel="step", ylabel="loss")
    right = axes.twinx()
    right.plot(steps, [entry.score for entry in outcome.history], "^-", color="tab:orange", label=metric)
    right.axvline(outcome.best_step, color="grey", linewidth=0.8, linestyle=":")
    right.set_ylabel(f"validation {metric}")
    figure.legend(loc="outside upper center", ncols=3)
    with atomic_path(path) as scratch:
        figure.savefig(scratch, format="png", dpi=120)
