"""REINFORCE, arXiv:1502.03044 sec. 4.1: gradients through choices of `Hard(sample=True)`, by their rewards."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


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
