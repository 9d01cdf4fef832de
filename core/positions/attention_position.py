"""`AttentionPosition`, the interface of position encodings that act on queries, keys or scores.

See `zoo.core.positions.rotary` and `zoo.core.positions.relative`; `zoo.core.positions.absolute` has those that are
added to the vectors. Positions are absolute, so a step at position t and a whole sequence agree.
"""

from typing import ClassVar, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.scoring.bias import Bias
from zoo.core.scoring.relative_bias import Relative
from zoo.core.tokens import Tokens

IN_ATTENTION = ("rotary", "alibi", "relative", "transformer-xl", "shaw")
"""Names of what acts inside attention."""


class HeadSizes(NamedTuple):
    """What a position encoding has to know of the attention that it acts in."""

    dim: int
    num_heads: int
    head_dim: int
    value_dim: int


class AttentionPosition(nn.Module):
    """A position encoding inside attention: it turns queries and keys by position, or adds to scores by offset."""

    acts_on: ClassVar[str] = "scores"
    """What the attention has to have: `vectors` (queries and keys), `scores`, or scores that are `products`."""

    def turn(
        self, position: Int[Tensor, "#b n"], *vectors: Float[Tensor, "b n _ d"]
    ) -> tuple[Float[Tensor, "b n _ d"], ...]:
        """Give vectors that stand at these positions, queries or keys, as the scores shall see them."""
        return vectors

    def bias(self) -> Relative | None:
        """Give what is added to the scores; None for nothing."""
        return None

    def bias_of(self, source: Tokens) -> Bias | None:
        """Give what is added to the scores where these are read, if they themselves say something about it."""
        return self.bias()
