"""Pooling to one vector for each sequence: the first, or the mean, sum or maximum of the valid ones.

Axes: b rows, n vectors, d channels, s sets: one in each row, or as many as are packed into it.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.tensor_check import values_known
from zoo.core.patterns.padding import Segments, Valid
from zoo.core.scoring.normalizers import upcast
from zoo.core.tokens import Tokens

Pool = Literal["first", "mean", "sum", "max"]


def check_pool(pool: str) -> None:
    """Check that `pool` is a known kind of pooling.

    Raises:
        ConfigError: If it is none.
    """
    if pool not in get_args(Pool):
        raise ConfigError(f"pool={pool!r} is not one of {', '.join(get_args(Pool))}")


def pooled(tokens: Tokens, pool: str) -> Float[Tensor, "s d"]:
    """Give one vector for each set, packed sets of a row one behind the other; that of an empty set is 0.

    Args:
        tokens: the sets.
        pool: `first`, `mean`, `sum` or `max`.

    Raises:
        InputError: If the first is wanted and there are no vectors at all.
    """
    if isinstance(tokens.keys, Segments):
        return _of_segments(tokens, tokens.keys, pool)
    if pool == "first":
        return first(tokens)
    valid = tokens.valid()
    if pool == "max":
        if not tokens.x.shape[1]:
            return tokens.x.sum(1)
        if valid is None:
            return tokens.x.amax(1)
        most = tokens.x.masked_fill(~valid[..., None], float("-inf")).amax(1)
        return most.masked_fill(~valid.any(1)[:, None], 0)
    if pool == "mean" and valid is None and tokens.x.shape[1]:
        return tokens.x.mean(1)
    total = tokens.without_padding().x.sum(1)
    if pool == "sum" or valid is None:
        return total
    return total / valid.sum(1, keepdim=True).clamp(min=1).to(total.dtype)


def first(tokens: Tokens) -> Float[Tensor, "b d"]:
    """Return the first valid vector of each row; the first of all where none is valid.

    Raises:
        InputError: If there are no vectors at all.
    """
    if not tokens.x.shape[1]:
        raise InputError(f"0 vectors in each of {len(tokens.x)} sets: there is no first one to label")
    if not isinstance(tokens.keys, Valid):
        return tokens.x[:, 0]
    b, n = tokens.x.shape[:2]
    index = tokens.keys.valid(b, n, tokens.x.device).int().argmax(1)
    return tokens.x.take_along_dim(index[:, None, None], 1)[:, 0]


def _of_segments(tokens: Tokens, keys: Segments, pool: str) -> Float[Tensor, "s d"]:
    """Pool packed sets; sums are float32 in half precision."""
    b, n, d = tokens.x.shape
    valid = keys.valid(b, n, tokens.x.device).flatten()
    sets = keys.sets
    rows = torch.arange(b, device=valid.device)[:, None] * sets
    ids = (keys.ids.to(valid.device) + rows).flatten()
    x = tokens.x.flatten(0, 1)
    if not values_known(valid):
        ids, x = ids.clamp(min=0), x.masked_fill(~valid[:, None], 0)
    elif not bool(valid.all()):
        ids, x = ids[valid], x[valid]
    if pool == "max":
        index = ids[:, None].expand_as(x)
        return x.new_zeros(b * sets, d).scatter_reduce(0, index, x, "amax", include_self=False)
    if pool == "first":
        places, empty = _firsts(ids, b * sets)
        return x.new_zeros(b * sets, d) if not len(x) else x[places].masked_fill(empty[:, None], 0)
    total = upcast(x).new_zeros(b * sets, d).index_add(0, ids, upcast(x))
    if pool == "mean":
        counts = total.new_zeros(b * sets).index_add(0, ids, torch.ones_like(ids, dtype=total.dtype))
        total = total / counts.clamp(min=1)[:, None]
    return total.to(x.dtype)


def _firsts(ids: Int[Tensor, " m"], sets: int) -> tuple[Int[Tensor, " s"], Tensor]:
    """Give the place of the first vector of each set, and which sets are empty."""
    places = torch.full((sets,), len(ids), device=ids.device)
    places = places.scatter_reduce(0, ids, torch.arange(len(ids), device=ids.device), "amin")
    return places.clamp(max=max(len(ids) - 1, 0)), places == len(ids)


def last(tokens: Tokens) -> Float[Tensor, "b 1 d"]:
    """Return the last valid vector of each row."""
    valid = tokens.valid()
    if valid is None:
        return tokens.x[:, -1:]
    place = torch.arange(tokens.x.shape[1], device=tokens.x.device) * valid
    return tokens.x.gather(1, place.amax(1)[:, None, None].expand(-1, 1, tokens.x.shape[2]))
