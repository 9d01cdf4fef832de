"""Choosing the next token by its logits: greedy, or sampling with temperature, top-k and top-p.

Axes: b rows of the batch, r rows of it that still write, c candidates.
"""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError

BLOCK = 256
"""Numbers whose largest is compared first by `top`."""
NUCLEUS = 512
"""Tokens among which a nucleus is looked for first."""


class Choice(ABC):
    """Choose a token for each row."""

    @abstractmethod
    def __call__(self, scores: Float[Tensor, "r vocab"], rows: Int[Tensor, " r"], batch: int) -> Int[Tensor, " r"]:
        """Choose.

        Args:
            scores: of each token.
            rows: which rows of the batch these are.
            batch: rows there were at first.
        """


class Greedy(Choice):
    """Choose the best."""

    def __call__(self, scores: Float[Tensor, "r vocab"], rows: Int[Tensor, " r"], batch: int) -> Int[Tensor, " r"]:
        return scores.max(-1).indices  # twice as fast as argmax


class Sample(Choice):
    """Draw a token by its probability, which is the softmax of the scores over the temperature.

    Each step draws one number for each row of the batch there was at first, so a row does not depend on when others
    end.

    Args:
        temperature: above 0.
        top_k: how many of the best tokens are drawn from (arXiv:1805.04833 sec. 5.4); all if None.
        top_p: draw from the fewest tokens whose probabilities sum up to this (arXiv:1904.09751 sec. 3.1); all if None.
        seed: of the draws; PyTorch's own generator goes on if None.
    """

    def __init__(self, temperature: float, top_k: int | None, top_p: float | None, seed: int | None) -> None:
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.generator = None if seed is None else torch.Generator().manual_seed(seed)

    def __call__(self, scores: Float[Tensor, "r vocab"], rows: Int[Tensor, " r"], batch: int) -> Int[Tensor, " r"]:
        drawn = torch.rand(batch, generator=self.generator, dtype=torch.float64, device="cpu").to(scores.device)[rows]
        ids = None
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            scores, ids = top(scores, self.top_k)
        scores = scores - scores.amax(-1, keepdim=True)
        chance = (scores.double() / self.temperature).softmax(-1)
        if self.top_p is not None:
            chance, at = nucleus(chance, self.top_p)
            ids = at if ids is None else ids.gather(1, at)
        sums = chance.cumsum(-1)
        at = torch.searchsorted(sums, drawn[:, None] * sums[:, -1:], right=True)
        return at[:, 0] if ids is None else ids.gather(1, at)[:, 0]


def nucleus(chance: Float[Tensor, "r n"], top_p: float) -> tuple[Float[Tensor, "r c"], Int[Tensor, "r c"]]:
    """Give the fewest probabilities that sum up to `top_p`, largest first, then 0; and where they stand.

    Few usually do, and finding few takes a fifth of the time of sorting 50,257.
    """
    largest, at = chance.topk(min(NUCLEUS, chance.shape[-1]))
    if largest.shape != chance.shape and bool((largest.sum(-1) < top_p).any()):
        largest, at = chance.sort(-1, descending=True)
    before = largest.cumsum(-1) - largest
    return largest.masked_fill(before >= top_p, 0), at


def choice(temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None) -> Choice:
    """Choose greedy search or sampling: greedy without sampling options, or at temperature 0.

    Raises:
        ConfigError: If a value cannot be.
    """
    if temperature is not None and not 0 <= temperature < math.inf:
        raise ConfigError(f"temperature={temperature} is not in [0, ∞); 0 chooses the best token")
    if top_k is not None and top_k < 1:
        raise ConfigError(f"top_k={top_k}: at least one token is drawn from")
    if top_p is not None and not 0 < top_p <= 1:
        raise ConfigError(f"top_p={top_p} is not in (0, 1]")
    if temperature == 0 or (temperature is None and top_k is None and top_p is None):
        return Greedy()
    return Sample(1.0 if temperature is None else temperature, top_k, top_p, seed)


def top(x: Float[Tensor, "*b n"], k: int) -> tuple[Float[Tensor, "*b k"], Int[Tensor, "*b k"]]:
    """Give the k largest of each row, largest first, and where they stand.

    They stand in the k blocks whose largest are largest: of 50,257 scores that takes a tenth of the time of `topk`.
    """
    blocks = x.shape[-1] // BLOCK
    if blocks < 4 * k:
        values, at = x.topk(k)
        return values, at
    body = x[..., : blocks * BLOCK].unflatten(-1, (blocks, BLOCK))
    best = body.amax(-1).topk(k).indices[..., None]
    found = body.gather(-2, best.expand(*best.shape[:-1], BLOCK)).flatten(-2)
    place = (best * BLOCK + torch.arange(BLOCK, device=x.device)).flatten(-2)
    rest = torch.arange(blocks * BLOCK, x.shape[-1], device=x.device).expand(*x.shape[:-1], -1)
    values, at = torch.cat([found, x[..., blocks * BLOCK :]], dim=-1).topk(k)
    return values, torch.cat([place, rest], dim=-1).gather(-1, at)
