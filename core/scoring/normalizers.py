"""How scores become weights: softmax, a hard choice with its gradient, or a kernel whose sums have any order.

Axes: b rows (or draws), q queries, k keys, n vectors, d head size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn


def elu_features(x: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n d"]:
    """Give elu(x) + 1, the positive features of arXiv:2006.16236 eq. 7."""
    return torch.nn.functional.elu(x) + 1


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

    No gradient flows through the choice; `reinforce` estimates it.

    Args:
        sample: whether to draw; otherwise the key with the highest score is read.
    """

    sample: bool = False


Norm = str | Kernel | Hard


def upcast(x: Tensor) -> Tensor:
    """Give half precisions in float32, others as they are."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


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


def log_probability(chosen: Float[Tensor, "*b q k"], probabilities: Float[Tensor, "*#b q k"]) -> Float[Tensor, "*b q"]:
    """Give the log-probability of each query's choice; 0, with gradient 0, for a query with nothing to read.

    Both come from `attend(..., return_weights=True)`: the choices with `norm=Hard(sample=True)`, and what they were
    drawn from with the softmax and otherwise the same arguments.

    Args:
        chosen: a single one in each row, at the key that was read.
        probabilities: softmax weights, through which the gradient flows.
    """
    picked = (chosen.detach() * probabilities).sum(-1)
    return torch.where(chosen.sum(-1) > 0, picked, 1).log()


def reinforce(
    log_probability: Float[Tensor, "b ..."],
    reward: Float[Tensor, " b"],
    baseline: Float[Tensor, "#b"] | float = 0.0,
) -> Float[Tensor, ""]:
    """Give a loss whose gradient estimates that of minus the expected reward (REINFORCE, arXiv:1502.03044 eq. 11).

    The mean over draws of (reward - baseline) times the log-probability of the draw. Its value means nothing; what the
    reward itself owes to the parameters (the first term of eq. 11) is not in it: add `-reward.mean()` for that.
    The estimate is unbiased whatever the baseline, as long as that does not depend on the same draws.

    Args:
        log_probability: of every choice of each draw; choices of a draw are made independently.
        reward: of each draw, such as the log-likelihood of the label.
        baseline: taken off the reward, against variance; `MovingAverage` of the rewards in the paper (eq. 12).
    """
    gain = (reward - baseline).detach()
    return -(gain * log_probability.flatten(1).sum(1)).mean()


class MovingAverage(nn.Module):
    """A baseline: the average of the rewards so far, older ones forgotten (arXiv:1502.03044 eq. 12).

    Read `value` before `update` gets the rewards of the same draws: a baseline that knows them biases the estimate.

    Args:
        keep: share of the old average in the new, in [0, 1).
    """

    def __init__(self, keep: float = 0.9) -> None:
        super().__init__()
        self.keep = keep
        self.value: Tensor
        self.register_buffer("value", torch.zeros(()))

    @torch.no_grad()
    def update(self, reward: Float[Tensor, " b"]) -> None:
        """Mix in the mean of these rewards."""
        self.value.lerp_(reward.mean().to(self.value.dtype), 1 - self.keep)
