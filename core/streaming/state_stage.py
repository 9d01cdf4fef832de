"""Streaming for layers whose state has a constant size, such as linear attention and recurrences.

Axes: b rows, n new vectors.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from zoo.core.cache.state import State
from zoo.core.patterns.pattern import Pattern
from zoo.core.streaming.stages import Stream
from zoo.core.tokens import Tokens


class StateStage(Stream):
    """Apply a causal layer to vectors as they come, with the state that it also decodes with.

    Args:
        layer: an `AttentionLayer`.
        pattern: of the tokens; causal.
    """

    def __init__(self, layer: Any, pattern: Pattern) -> None:
        self.layer = layer
        self.pattern = pattern
        self.state: State | None = None

    def push(self, x: Float[Tensor, "b n d"], last: bool = False) -> Float[Tensor, "b n d"]:
        if not x.shape[1]:
            return x
        if self.state is None:
            self.state = self.layer.state(len(x), self.pattern)
        return self.layer(Tokens(x, self.pattern), None, self.state)

    @property
    def stored(self) -> int:
        return 0 if self.state is None else self.state.stored
