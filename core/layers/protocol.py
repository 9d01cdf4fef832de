"""`AttentionLayer`: what models, decoders, streams, training and plots require of an attention layer.

A new mechanism is a module with these methods; `zoo.core.Attention` is one. What it cannot do it refuses itself, with a
`ConfigError` that says why: there is no list of capabilities.
"""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.cache.state import State
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.streaming.stages import Stream
from zoo.core.tokens import Tokens


@runtime_checkable
class AttentionLayer(Protocol):
    """A layer that mixes the vectors of a set: `Tokens` to (batch, length, dim)."""

    num_heads: int
    """Heads of the weights that `weights` gives."""
    pattern: Pattern
    """Who may read whom, on top of what the tokens say; `Causal()` for a layer that never looks ahead."""

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Attend from the tokens to the tokens, or to the context; with a state, also to the cached keys."""

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h q k"]:
        """Give the weights that `forward` uses in evaluation; the state stays as it is."""

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Make an empty state for decoding step by step, where the tokens will carry this pattern."""

    def stream(self, pattern: Pattern | None = None) -> Stream:
        """Give the stage that answers while vectors come, where the tokens will carry this pattern."""

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        """Take the position encoding that acts inside attention; `wanted` is the caller's argument, for an error."""

    def packs(self) -> bool:
        """Tell whether several sets in one row (`Segments`) are computed as if each were alone."""


@runtime_checkable
class WeighsPairs(Protocol):
    """A layer that gives its weights: each `AttentionLayer`, and what is one in this alone."""

    def weights(self, *args: Any, **options: Any) -> Float[Tensor, "b h q k"]:
        """Give the weights that `forward` uses, of the same arguments."""


@runtime_checkable
class Projects(Protocol):
    """A layer whose queries, keys, values and answers are made by linear layers."""

    def projection(self, part: str) -> tuple[nn.Linear, int, int]:
        """Give the linear layer of `q`, `k`, `v` or `o`, and the rows of its weight that make them, from and before."""


@runtime_checkable
class WeighsEdges(Protocol):
    """A layer that can give its weights by edge, where a matrix of all pairs would not fit."""

    def by_edge(self, tokens: Tokens) -> tuple[Float[Tensor, "e h"], Edges] | None:
        """Give the weight of each edge and head, and the graph; None if the tokens carry none."""


@runtime_checkable
class ChecksPattern(Protocol):
    """A layer that cannot follow each pattern, which a decoder asks when it is built."""

    def check_pattern(self, pattern: Pattern) -> None:
        """Refuse, by a `ConfigError`, a pattern that this layer cannot follow."""
