"""REINFORCE, arXiv:1502.03044 sec. 4.1: gradients through drawn choices, by their rewards."""

import torch
from jaxtyping import Float
from torch import Tensor


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
        baseline: taken off the reward, against variance; such as `leave_one_out`.
    """
    gain = (reward - baseline).detach()
    return -(gain * log_probability.flatten(1).sum(1)).mean()


def leave_one_out(reward: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Give a baseline for each of at least two draws: the mean reward of the others, which knows nothing of this one.

    It needs no memory, unlike the moving average of arXiv:1502.03044 eq. 12, so that a training resumes exactly.
    """
    return (reward.sum() - reward) / (len(reward) - 1)
