"""`Suppress`: forbid tokens."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor


class Suppress:
    """Forbid tokens: their scores become -∞. A minimum length forbids the end so.

    Args:
        tokens: which.
    """

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens = list(tokens)

    def __call__(self, ids: Int[Tensor, "r n"], scores: Float[Tensor, "r vocab"]) -> Float[Tensor, "r vocab"]:
        """Give the scores with -∞ for the tokens."""
        found = scores.clone()
        found[:, self.tokens] = -float("inf")
        return found
