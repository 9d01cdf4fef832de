"""`NoRepeatNgram`: forbid tokens that would repeat an n-gram.

Axes: r rows, n tokens that each has read, w windows of them.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError


class NoRepeatNgram:
    """Forbid each token that would end an n-gram which stands before; arXiv:1705.04304 sec. 2.5.

    Conventions are Hugging Face's: n-grams of the prompt count, also those that begin there and end in the answer.

    Args:
        size: tokens of an n-gram, from 1 on.

    Raises:
        ConfigError: If it is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ConfigError(f"no_repeat_ngram_size={size}: an n-gram has at least one token")
        self.size = size

    def __call__(self, ids: Int[Tensor, "r n"], scores: Float[Tensor, "r vocab"]) -> Float[Tensor, "r vocab"]:
        """Give the scores with -∞ for tokens that are forbidden."""
        n = ids.shape[1]
        if n < self.size:
            return scores
        windows = ids.unfold(1, self.size, 1)
        same = (windows[..., :-1] == ids[:, None, n + 1 - self.size :]).all(-1)
        r, w = same.nonzero(as_tuple=True)
        forbidden = torch.zeros_like(scores, dtype=torch.bool)
        forbidden[r, windows[r, w, -1]] = True
        return scores.masked_fill(forbidden, -torch.inf)
