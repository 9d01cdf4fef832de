"""Activation checkpointing in training: blocks keep their inputs alone, and compute the rest again."""

from typing import Any

from torch import Tensor, nn

from zoo.core import recomputed
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.parts import blocks_of
from zoo.training.objective import Objective


class Checkpointed:
    """Objective whose blocks keep only their inputs for the backward pass; each goes forward twice.

    Args:
        objective: what is asked.
        model: in training.

    Raises:
        ConfigError: If the model has no blocks.
    """

    def __init__(self, objective: Objective, model: nn.Module) -> None:
        self.objective = objective
        self.blocks = blocks_of(model)
        if not self.blocks:
            raise ConfigError(f"checkpointing=True: {type(model).__name__} has no blocks of an encoder or a decoder")

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        with recomputed(self.blocks):
            return self.objective(forward, batch, step)
