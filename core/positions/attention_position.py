"""Position encodings inside attention: what they may do to queries, keys and scores.

See `zoo.core.positions.rotary` and `zoo.core.positions.relative`; `zoo.core.positions.absolute` has those that are
added to the vectors. Positions are absolute, so a step at position t and a whole sequence agree.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.scoring.bias import Bias
from zoo.core.scoring.relative_bias import Relative
from zoo.core.tokens import Tokens

INNER = ("rotary", "alibi", "relative", "transformer-xl", "shaw")
"""Names of what acts inside attention."""


class InnerPosition(nn.Module):
    """Act inside attention: turn queries and keys by where they stand, or add to the scores by their offset."""

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
