"""Moving average of the weights (EMA), which is validated and saved in place of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Exponential moving average of a model's trained parameters: w' ← d w' + (1 - d) w after each step.

    d is `min(decay, (1 + t) / (10 + t))` at step t, so that the first steps, far from the end, are soon forgotten, as
    TensorFlow's `ExponentialMovingAverage` has it. Buffers are those of the model.

    Args:
        model: in training.
        decay: of what is averaged, in [0, 1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights = {name: each.detach().clone() for name, each in self._trained()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the present weights, after this step, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        now: list[Tensor] = [each for _, each in self._trained()]
        torch._foreach_lerp_([*self.weights.values()], now, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the average until the `with` ends."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def load(self, weights: dict[str, Tensor]) -> None:
        """Take over an average that was saved."""
        for name, mean in self.weights.items():
            mean.copy_(weights[name])

    def _trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((name, each) for name, each in self.model.named_parameters() if each.requires_grad)

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self._trained():
            before = parameter.clone()
            parameter.copy_(self.weights[name])
            self.weights[name].copy_(before)
