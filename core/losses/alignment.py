"""Losses on attention weights: three alignment priors for cross-attention.

Axes: b rows, h heads, q queries (what is written), k keys (what is read).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError

Lengths = Int[Tensor, " b"] | None
"""How many of each row are there; None for all."""


def guided_attention(
    weights: Float[Tensor, "b h q k"], queries: Lengths = None, keys: Lengths = None, sigma: float = 0.2
) -> Float[Tensor, ""]:
    """Penalise attention away from the diagonal: arXiv:1710.08969 sec. 4.1, eq. 6.

    Args:
        weights: attention weights, rows that sum to 1.
        queries: queries of each row.
        keys: keys of each row.
        sigma: width of the diagonal that is left alone, as a share of the lengths (g in the paper).

    Returns:
        The mean over pairs that are there; 0 where none is.

    Raises:
        ConfigError: If the width is not positive.
    """
    if sigma <= 0:
        raise ConfigError(f"sigma={sigma}: the diagonal has a positive width")
    at_query, valid_query = _places(weights, 2, queries)
    at_key, valid_key = _places(weights, 3, keys)
    far = at_key[:, None, :] - at_query[:, :, None]
    penalty = 1 - torch.exp(-(far**2) / (2 * sigma**2))
    valid = valid_query[:, :, None] & valid_key[:, None, :]
    total = (weights * (penalty * valid)[:, None]).sum()
    return total / (valid.sum() * weights.shape[1]).clamp(min=1)


def monotonic(
    weights: Float[Tensor, "b h q k"], queries: Lengths = None, keys: Lengths = None, margin: float = 0.0
) -> Float[Tensor, ""]:
    """Penalise attention whose mean position goes back from one query to the next: arXiv:2104.03945 sec. 3.

    Args:
        weights: attention weights, rows that sum to 1.
        queries: queries of each row.
        keys: keys of each row.
        margin: share of the even pace (all keys in all queries) by which the position has to advance.

    Returns:
        The mean way back, as a share of the keys, over pairs of neighbouring queries; 0 where there are none.
    """
    at_key, _ = _places(weights, 3, keys)
    _, valid = _places(weights, 2, queries)
    position = torch.einsum("bhqk,bk->bhq", weights, at_key.to(weights.dtype))
    wanted = margin / valid.sum(1).clamp(min=1)
    back = (position[..., :-1] - position[..., 1:] + wanted[:, None, None]).clamp(min=0)
    pairs = valid[:, 1:]
    return (back * pairs[:, None]).sum() / (pairs.sum() * weights.shape[1]).clamp(min=1)


def doubly_stochastic(
    weights: Float[Tensor, "b h q k"], queries: Lengths = None, keys: Lengths = None, target: str = "1"
) -> Float[Tensor, ""]:
    """Penalise keys that are read more or less than others over all queries: arXiv:1502.03044 sec. 4.2.1.

    The sum over keys of (target - sum over queries of a weight)², the mean over batch and heads. All weights of C
    queries sum to C, so that L keys cannot all be read once unless C = L, as the paper's code asks of them all the same
    (kelvinxu/arctic-captions #38); C / L for each is what they can be. Queries and keys that are not there count
    nowhere.

    Args:
        weights: attention weights, rows that sum to 1.
        queries: queries of each row.
        keys: keys of each row.
        target: `1`, as in the paper, or `uniform`, C / L.

    Raises:
        ConfigError: If the target is neither.
    """
    if target not in ("1", "uniform"):
        raise ConfigError(f"target={target!r} is neither '1' nor 'uniform'")
    _, valid_query = _places(weights, 2, queries)
    _, valid_key = _places(weights, 3, keys)
    read = (weights * valid_query[:, None, :, None]).sum(2)
    wanted = torch.ones_like(read[:, 0, :1])
    if target == "uniform":
        wanted = (valid_query.sum(1) / valid_key.sum(1).clamp(min=1)).to(read.dtype)[:, None]
    return ((wanted[:, None] - read) ** 2 * valid_key[:, None]).sum(-1).mean()


def _places(weights: Tensor, axis: int, lengths: Lengths) -> tuple[Float[Tensor, "b n"], Tensor]:
    """Give where each query or key stands, as a share of its row's length, and whether it is there."""
    batch, size = weights.shape[0], weights.shape[axis]
    index = torch.arange(size, device=weights.device)
    if lengths is None:
        lengths = torch.full((batch,), size)
    length = lengths.to(weights.device)[:, None]
    return index / length.clamp(min=1), index < length
