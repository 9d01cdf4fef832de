"""Activation checkpointing in training: blocks keep their inputs alone, and compute the rest again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from zoo.core import RecurrentLayers, recomputed
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.parts import blocks_of
from zoo.training.objective import Objective


class Checkpointed:
    """Objective whose blocks keep only their inputs for the backward pass; each goes forward twice.

    A recurrent decoder is a block of its own: what it aligns at each step is computed again. Networks of timm have
    stages in place of blocks; the running statistics of their batch norms take in each batch twice.

    Args:
        objective: what is asked.
        model: in training.

    Raises:
        ConfigError: If the model has neither blocks nor stages.
    """

    def __init__(self, objective: Objective, model: nn.Module) -> None:
        self.objective = objective
        self.model: Any = model
        self.blocks = blocks_of(model) + [part for part in model.modules() if isinstance(part, RecurrentLayers)]
        if not self.blocks and not hasattr(model, "set_grad_checkpointing"):
            raise ConfigError(f"checkpointing=True: {type(model).__name__} has no blocks of an encoder or a decoder")
        with self._recomputed():
            pass  # refused here where it cannot be

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        with self._recomputed():
            return self.objective(forward, batch, step)

    @contextmanager
    def _recomputed(self) -> Iterator[None]:
        if self.blocks:
            with recomputed(self.blocks):
                yield
            return
        self.model.set_grad_checkpointing(True)
        try:
            yield
        finally:
            self.model.set_grad_checkpointing(False)
