"""Summaries of an attention head: entropy, mean distance, and the mass on the first, the same and the previous vector.

Axes: h heads, q queries, k keys, c coordinates of a place.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class HeadSummary:
    """Means over the queries that read anything.

    Args:
        entropy: of a query's weights, in bits: 0 where one key has all, log2 k where all are alike.
        distance: from query to key, weighted; None where they stand in no common space.
        first: share of the weight on the first key.
        itself: share on the query's own vector; None in cross-attention.
        previous: share on the vector before; None in cross-attention.
        padding: share on keys that are padding.
    """

    entropy: float
    distance: float | None
    first: float
    itself: float | None
    previous: float | None
    padding: float


def summarise(
    weights: Float[Tensor, "h q k"],
    valid: Bool[Tensor, " k"] | None = None,
    *,
    cross: bool = False,
    places: Float[Tensor, "k c"] | None = None,
) -> list[HeadSummary]:
    """Summarise each head; weights of a row are taken as shares of their sum, and negative ones by their size.

    Args:
        weights: of one input.
        valid: which keys are no padding; of self-attention, which queries count. All if None.
        cross: whether queries and keys are different sets.
        places: of the vectors, in any unit; NaN where one has no place. Numbers 0, 1, 2, … if None.
    """
    q, k = weights.shape[1:]
    own = not cross and q == k
    shares = weights.double().abs()
    shares = shares / shares.sum(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    reads = shares.sum(-1) > 0.5  # a row of zeros has none
    if valid is not None and own:
        reads = reads & valid
    per_query = {
        "entropy": -(shares * shares.clamp(min=torch.finfo(torch.float64).tiny).log2()).sum(-1),
        "first": shares[..., 0],
        "padding": torch.zeros_like(shares[..., 0]) if valid is None else shares[..., ~valid].sum(-1),
    }
    if own:
        before = torch.zeros_like(shares[..., 0])
        before[:, 1:] = shares.diagonal(-1, 1, 2)
        per_query |= {"itself": shares.diagonal(0, 1, 2), "previous": before}
    means = {name: _mean(values, reads) for name, values in per_query.items()}
    distances = _distances(shares, reads, places) if own else [None] * len(weights)
    nothing: list[float | None] = [None] * len(weights)
    return [
        HeadSummary(
            entropy=means["entropy"][head],
            distance=distances[head],
            first=means["first"][head],
            itself=means.get("itself", nothing)[head],
            previous=means.get("previous", nothing)[head],
            padding=means["padding"][head],
        )
        for head in range(len(weights))
    ]


def _mean(values: Float[Tensor, "h q"], reads: Bool[Tensor, "h q"]) -> list[float]:
    return (values.masked_fill(~reads, 0).sum(-1) / reads.sum(-1).clamp(min=1)).tolist()


def _distances(
    shares: Float[Tensor, "h q k"], reads: Bool[Tensor, "h q"], places: Float[Tensor, "k c"] | None
) -> list[float]:
    """Weigh distances between places by what of the weight lies on vectors that have one."""
    at = torch.arange(shares.shape[-1], dtype=torch.float64)[:, None] if places is None else places.double()
    placed = ~at.isnan().any(-1)
    between = torch.cdist(at.nan_to_num(), at.nan_to_num())
    kept = shares * placed
    known = kept.sum(-1)
    mean = (kept * between).sum(-1) / known.clamp(min=torch.finfo(torch.float64).tiny)
    return _mean(mean, reads & placed & (known > 0))
