"""`RepetitionPenalty`: lower scores of tokens that were read before."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError


class RepetitionPenalty:
    """Divide the scores of tokens that stand in the prompt or in the answer; arXiv:1909.05858 sec. 4.1.

    Conventions are Hugging Face's: a positive score is divided by the penalty, a negative one multiplied; each token
    once, however often it stands there; the prompt counts, of a decoder alone and of a decoder with an encoder, but
    not the source. Greedy search and sampling penalise logits, beam search log-probabilities.

    Args:
        penalty: above 0; 1 changes nothing, below 1 favours repetitions.

    Raises:
        ConfigError: If it is not.
    """

    def __init__(self, penalty: float) -> None:
        if not 0 < penalty < math.inf:
            raise ConfigError(f"repetition_penalty={penalty} is not in (0, ∞); 1 changes nothing")
        self.penalty = penalty

    def __call__(self, ids: Int[Tensor, "r n"], scores: Float[Tensor, "r vocab"]) -> Float[Tensor, "r vocab"]:
        """Give the scores with those of repeated tokens changed."""
        old = scores.gather(1, ids)
        return scores.scatter(1, ids, torch.where(old < 0, old * self.penalty, old / self.penalty))
