"""`Steps`: what a linear recurrence is given for each token.

Axes: b rows and heads, n tokens, d channels of queries and keys, e channels of values, c decays: 1, or d.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad


class Steps(NamedTuple):
    """Hold the tokens of S_t = A_t S_{t-1} + k_t v_tᵀ, which token t reads as o_t = S_tᵀ q_t.

    Without decay and rate A_t is 1. A decay makes it diag(exp(decay_t)), with one number for all channels or one for
    each. A rate β makes it (I - β_t k_t k_tᵀ) diag(exp(decay_t)), and writes β_t v_t in place of v_t: the delta rule,
    which overwrites the value that was stored under k_t.

    Args:
        q: queries.
        k: keys; of norm 1 where there is a rate.
        v: values.
        decay: natural logarithms, at most 0; -inf forgets everything. None for no decay.
        rate: β, in [0, 2]. None for plain sums.
    """

    q: Float[Tensor, "*b n d"]
    k: Float[Tensor, "*b n d"]
    v: Float[Tensor, "*b n e"]
    decay: Float[Tensor, "*b n c"] | None = None
    rate: Float[Tensor, "*b n 1"] | None = None

    @property
    def empty(self) -> Float[Tensor, "*b d e"]:
        """The state before the first token: zeros."""
        return self.k.new_zeros(*self.k.shape[:-2], self.k.shape[-1], self.v.shape[-1])

    def masked(self, valid: Bool[Tensor, "*#b n"]) -> "Steps":
        """Let tokens that are not there neither decay nor write, and read finite numbers."""
        return Steps._make(None if x is None else x.masked_fill(~valid[..., None], 0) for x in self)

    def cut(self, count: int, size: int) -> "Steps":
        """Cut into chunks (*b, count, size, channels), filled up with tokens that neither decay nor write."""
        behind = (0, 0, 0, count * size - self.q.shape[-2])
        return Steps._make(None if x is None else pad(x, behind).unflatten(-2, (count, size)) for x in self)


def decays_up_to(decay: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b n c"]:
    """Sum the logarithms of the first token up to each: what is left of the state before them."""
    return decay.cumsum(-2)


def decays_behind(decay: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b n c"]:
    """Sum the logarithms behind each token up to the last: what is left of it in the end.

    They are added up from the end: the difference of two sums would lose digits, and -inf gives NaN.
    """
    return pad(decay[..., 1:, :], (0, 0, 0, 1)).flip(-2).cumsum(-2).flip(-2)


def decays_between(decay: Float[Tensor, "*b n 1"]) -> Float[Tensor, "*b n n"]:
    """Give what is left at token t of token s: exp of the sum over s < r ≤ t; 0 for s > t (arXiv:2405.21060 eq. 4)."""
    n = decay.shape[-2]
    sums = decay.expand(*decay.shape[:-1], n).tril(-1).cumsum(-2)
    later = torch.ones(n, n, dtype=torch.bool, device=decay.device).triu(1)
    return sums.masked_fill(later, -torch.inf).exp()
