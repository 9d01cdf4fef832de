"""How scores become weights: softmax, a hard choice, or a kernel whose sums can be taken in any order.

Axes: b rows, h heads, n vectors, d head size, f features.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


def elu_features(x: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n d"]:
    """Give elu(x) + 1, the positive features of arXiv:2006.16236 eq. 7."""
    return torch.nn.functional.elu(x) + 1


@dataclass(frozen=True)
class Kernel:
    """Weigh by phi(q)·phi(k) over its sum, with no softmax (arXiv:2006.16236 eq. 4); the score is not used.

    Args:
        features: phi, positive features of queries and of keys.
    """

    features: Callable[[Tensor], Tensor] = elu_features


@dataclass(frozen=True)
class Hard:
    """Read one key only: the best, or in training one drawn from the softmax (arXiv:1502.03044 sec. 4.1).

    Args:
        sample: whether to draw; otherwise the key with the highest score is read.
    """

    sample: bool = False


def choose(weights: Float[Tensor, "*b k"], norm: Hard) -> Float[Tensor, "*b k"]:
    """Turn each row of softmax weights into a single one at the key that is read; a row of zeros stays so."""
    if norm.sample:
        some = weights.detach() + (weights.detach().sum(-1, keepdim=True) == 0)
        index = torch.multinomial(some.flatten(0, -2), 1).view(*weights.shape[:-1], 1)
    else:
        index = weights.argmax(-1, keepdim=True)
    chosen = torch.zeros_like(weights).scatter(-1, index, 1.0)
    return chosen * (weights.detach().sum(-1, keepdim=True) > 0)


Norm = str | Kernel | Hard
