"""`LogScores`: losses, learning rates and scores of a training, to loggers of Lightning Fabric."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.csv_logs import CSVLogger
from torch import Tensor
from torch.optim import Optimizer

from zoo.registry.entry_loading import require
from zoo.spec import Requirement
from zoo.training.callbacks.callback import Callback
from zoo.training.resume.run_folder import LOGS
from zoo.training.resume.train_state import Outcome

POINTS = 200
"""Losses that are logged: to read one, an accelerator has to be waited for."""
_LIBRARIES = {
    name: tuple(Requirement(module=each, distribution=each, install=each) for each in libraries)
    for name, libraries in {"tensorboard": ("tensorboard",), "wandb": ("wandb", "lightning")}.items()
}
"""What a logger needs; that of Weights & Biases for Fabric, which is wandb's own, imports all of Lightning."""


def loggers_for(names: str | None, folder: Path | None, facts: Mapping[str, Any]) -> list[Any]:
    """Make loggers by name.

    Args:
        names: of them, with commas between; None for none.
        folder: of the run; None for the folder `logs` of where the program runs.
        facts: what is needed to repeat the training.

    Raises:
        MissingLibraryError: If a library is not installed.
    """
    root = str(folder or Path())
    found: list[Any] = []
    for name in dict.fromkeys((names or "").split(",") if names else ()):
        if name in _LIBRARIES:
            require(f"logger={name}", _LIBRARIES[name])
        if name == "csv":
            found.append(CSVLogger(root, LOGS))
        elif name == "tensorboard":
            from lightning_fabric.loggers.tensorboard import TensorBoardLogger

            found.append(TensorBoardLogger(root, LOGS))
        elif name == "wandb":
            logger: Any = import_module("wandb.integration.lightning.fabric").WandbLogger
            run = str(folder.resolve().name) if folder else None
            found.append(logger(name=run, save_dir=str(Path(root) / LOGS), project="zoo", config=dict(facts)))
    return found


class LogScores(Callback):
    """Log the training loss and the learning rates now and then, each validation, and the test.

    Args:
        loggers: any of Lightning Fabric's interface.
        optimizers: whose learning rates are logged.
        steps: of the training.
    """

    def __init__(self, loggers: Sequence[Any], optimizers: Sequence[Optimizer], steps: int) -> None:
        self.loggers, self.optimizers = loggers, optimizers
        self.every = max(1, steps // POINTS)

    def on_step(self, step: int, loss: Tensor) -> None:
        if step % self.every == 0:
            rate = max(group["lr"] for optimizer in self.optimizers for group in optimizer.param_groups)
            self._log({"train/loss": float(loss.detach()), "train/learning_rate": float(rate)}, step)

    def on_validation(self, outcome: Outcome) -> None:
        last = outcome.history[-1]
        self._log({f"validation/{name}": float(score) for name, score in last.scores.items()}, last.step)

    def on_end(self, outcome: Outcome, scores: Mapping[str, float]) -> None:
        if scores:
            self._log({f"test/{name}": float(score) for name, score in scores.items()}, outcome.steps)
        for logger in self.loggers:
            logger.finalize("success" if outcome.ended != "asked to" else "interrupted")

    def _log(self, scores: Mapping[str, float], step: int) -> None:
        for logger in self.loggers:
            if scores:
                logger.log_metrics(dict(scores), step)
                logger.save()
