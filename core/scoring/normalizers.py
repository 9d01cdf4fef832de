"""Normalisation of scores to weights: softmax, hard attention with its gradient, or a kernel (linear attention).

Axes: b rows (or draws), q queries, k keys, n vectors, d head size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def elu_features(x: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n d"]:
    """Give elu(x) + 1, the positive features of arXiv:2006.16236 eq. 7.

    Below 0 it is exp(x), which float32 tells from 0 down to -103; elu(x) + 1 is 0 from -17 on.
    """
    return x.clamp(max=0).exp() + x.relu()


@dataclass(frozen=True)
class Kernel:
    """Weigh by phi(q)·phi(k) over its sum, with no softmax (arXiv:2006.16236 eq. 4); the score is not used.

    Args:
        features: phi, positive features of queries and of keys. It treats each vector alone, so that no row, head or
            later key changes another's features, and is given float32 where q and k are of half precision.
    """

    features: Callable[[Tensor], Tensor] = elu_features

    def width(self, head_dim: int, dtype: torch.dtype, device: str) -> int:
        """Count the features that phi gives for a vector, by asking it.

        Args:
            head_dim: channels of the vector.
            dtype: of queries and keys.
            device: on which phi computes.
        """
        with torch.no_grad():
            probe = torch.zeros(1, 1, 1, head_dim, dtype=dtype, device=device)
            return self.features(upcast(probe)).shape[-1]

    def __repr__(self) -> str:
        return f"Kernel({getattr(self.features, '__name__', repr(self.features))})"


@dataclass(frozen=True)
class Hard:
    """Read one key only: the best, or in training one drawn from the softmax (arXiv:1502.03044 sec. 4.1).

    No gradient flows through the choice; `zoo.core.losses.reinforce` estimates it.

    Args:
        sample: whether to draw; otherwise the key with the highest score is read.
    """

    sample: bool = False


Norm = str | Kernel | Hard


def upcast(x: Tensor) -> Tensor:
    """Give half precisions in float32, others as they are."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def masked_softmax(scores: Float[Tensor, "*q k"], mask: Bool[Tensor, "*#q k"] | None) -> Float[Tensor, "*q k"]:
    """Normalise each row over what it may read; a row that may read nothing is 0, with gradient 0."""
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0)


def divided(y: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b n e"]:
    """Divide by the normaliser, the last column; what has read nothing stays 0."""
    weight = y[..., -1:]
    return y[..., :-1] / torch.where(weight == 0, 1, weight)


def choose(weights: Float[Tensor, "*b k"], norm: Hard) -> Float[Tensor, "*b k"]:
    """Turn each row of softmax weights into a single one at the key that is read; a row of zeros stays so."""
    weights = weights.detach()
    if not weights.numel():
        return weights
    nothing = ~weights.any(-1, keepdim=True)
    if norm.sample:
        index = torch.multinomial((weights + nothing).flatten(0, -2), 1).view(*weights.shape[:-1], 1)
    else:
        index = weights.argmax(-1, keepdim=True)
    return torch.zeros_like(weights).scatter(-1, index, 1.0).masked_fill(nothing, 0)
