"""Frozen parts in training: they compute as in evaluation, and their running statistics stay as they are."""

from typing import Any

from torch import Tensor, nn

from zoo.data.corpus import Batch
from zoo.training.objective import Objective


class KeepFrozen:
    """Objective with frozen parts in evaluation mode: no dropout, and the statistics of batch norms stay.

    Args:
        objective: what is asked.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.still: list[nn.Module] | None = None

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        if self.still is None:
            self.still = [inner for part in forward.modules() if _is_frozen(part) for inner in part.modules()]
        for part in self.still:
            part.training = False
        return self.objective(forward, batch, step)


def _is_frozen(part: nn.Module) -> bool:
    parameters = list(part.parameters())
    return bool(parameters) and not any(parameter.requires_grad for parameter in parameters)
