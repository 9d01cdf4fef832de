"""`attend`, the one function that computes attention, and `plan`, the choice of how.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values, d head size, e value size.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Call, Problem
from zoo.core.errors import ConfigError, InputError
from zoo.core.pattern import Full, Keys, Pattern

SCORES = ("scaled_dot", "dot")


@dataclass(frozen=True)
class Plan:
    """Say which backend serves a problem, what that costs, and why it was chosen."""

    backend: str
    flops: int
    bytes: int
    why: str


def plan(
    pattern: Pattern = Full(),
    *,
    queries: int,
    keys: int,
    heads: int,
    head_dim: int,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    grad: bool = False,
    batch: int = 1,
    value_dim: int | None = None,
    padded: bool = False,
    bias: bool = False,
    score: str = "scaled_dot",
    dropout: float = 0.0,
    weights: bool = False,
    backend: str = "auto",
) -> Plan:
    """Choose the cheapest backend for a problem, without computing it.

    Args:
        pattern: who may read whom.
        queries: number of queries.
        keys: number of keys.
        heads: number of query heads.
        head_dim: channels of a query head.
        device: type of the device, `cpu` or `cuda`.
        dtype: of queries, keys and values.
        grad: whether gradients are needed.
        batch: rows.
        value_dim: channels of a value head; `head_dim` if None.
        padded: whether some keys are not there.
        bias: whether a bias is added to the scores.
        score: one of `scaled_dot`, `dot`.
        dropout: probability in [0, 1).
        weights: whether the attention weights are wanted.
        backend: a name to force, or `auto`.

    Raises:
        ConfigError: If the forced backend does not exist or cannot serve the problem.
    """
    value_dim = head_dim if value_dim is None else value_dim
    problem = Problem(
        pattern,
        batch,
        queries,
        keys,
        heads,
        head_dim,
        value_dim,
        dtype,
        device,
        grad,
        padded,
        bias,
        score,
        dropout,
        weights,
    )
    if backend != "auto":
        return _forced(problem, backend)
    offers = [
        Plan(name, cost.flops, cost.bytes, cost.why)
        for name, candidate in BACKENDS.items()
        if candidate.refuses(problem) is None
        for cost in [candidate.cost(problem)]
    ]
    return min(offers, key=lambda offer: (offer.flops, offer.bytes))


def _forced(problem: Problem, name: str) -> Plan:
    if name not in BACKENDS:
        raise ConfigError(f"backend={name!r} is not one of {', '.join(['auto', *BACKENDS])}")
    reason = BACKENDS[name].refuses(problem)
    if reason:
        raise ConfigError(f"backend={name!r} cannot serve {problem.pattern}: {reason}")
    cost = BACKENDS[name].cost(problem)
    return Plan(name, cost.flops, cost.bytes, f"forced; it {cost.why}")


@overload
def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = ...,
    keys: Keys | None = ...,
    bias: Tensor | None = ...,
    score: str = ...,
    dropout: float = ...,
    q_start: int | Tensor = ...,
    return_weights: Literal[False] = ...,
    backend: str = ...,
) -> Tensor: ...


@overload
def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = ...,
    keys: Keys | None = ...,
    bias: Tensor | None = ...,
    score: str = ...,
    dropout: float = ...,
    q_start: int | Tensor = ...,
    *,
    return_weights: Literal[True],
    backend: str = ...,
) -> tuple[Tensor, Tensor]: ...


def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = Full(),
    keys: Keys | None = None,
    bias: Float[Tensor, "#b #h #q #k"] | None = None,
    score: str = "scaled_dot",
    dropout: float = 0.0,
    q_start: int | Int[Tensor, "..."] = 0,
    return_weights: bool = False,
    backend: str = "auto",
) -> Float[Tensor, "b q h e"] | tuple[Float[Tensor, "b q h e"], Float[Tensor, "b h q k"]]:
    """Let each query read the values of the keys it may read, arXiv:1706.03762 eq. 1.

    A query with nothing to read gives exactly 0, with gradient 0.

    Args:
        q: queries by head.
        k: keys; as many heads as `q`, or a divisor (grouped queries, arXiv:2305.13245).
        v: values, one for each key.
        pattern: who may read whom; True means "may read".
        keys: which keys are there; None if all are.
        bias: added to the scores, after scaling.
        score: `scaled_dot` (divided by the root of d) or `dot`.
        dropout: probability that a weight is dropped, in [0, 1); applied whenever it is above 0.
        q_start: absolute position of the first query, for all rows or for each.
        return_weights: whether to return the weights too; their rows sum to 1, or to 0 with nothing to read.
        backend: `auto`, or the name of a backend to force.

    Raises:
        InputError: If shapes or dtypes do not fit.
        ConfigError: If score, dropout or backend is unknown or cannot be served.
    """
    check(q, k, v, score, dropout)
    if isinstance(q_start, Tensor) and q_start.shape != q.shape[:1]:
        raise InputError(
            f"q_start of shape {tuple(q_start.shape)} for a batch of {q.shape[0]}: one number, or one a row"
        )
    grad = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, bias))
    chosen = plan(
        pattern,
        queries=q.shape[1],
        keys=k.shape[1],
        heads=q.shape[2],
        head_dim=q.shape[3],
        device=q.device.type,
        dtype=q.dtype,
        grad=grad,
        batch=q.shape[0],
        value_dim=v.shape[3],
        padded=keys is not None,
        bias=bias is not None,
        score=score,
        dropout=dropout,
        weights=return_weights,
        backend=backend,
    )
    valid = None if keys is None else keys.valid(k.shape[0], k.shape[1], k.device)
    if valid is not None:
        k, v = (x.masked_fill(~valid[..., None, None], 0) for x in (k, v))
    scale = 1 / sqrt(q.shape[3]) if score == "scaled_dot" else 1.0
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    y, weights = BACKENDS[chosen.backend].run(Call(q, k, v, pattern, q_start, valid, bias, scale, dropout))
    y = y.transpose(1, 2)
    return (y, weights) if return_weights and weights is not None else y


def check(q: Tensor, k: Tensor, v: Tensor, score: str, dropout: float) -> None:
    """Refuse what `attend` cannot read; see there."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise InputError(f"{name} of shape {tuple(x.shape)} is not (batch, length, heads, head_dim)")
        if not x.is_floating_point():
            raise InputError(f"{name} is of {x.dtype}; attention needs floating point")
    if not q.dtype == k.dtype == v.dtype:
        raise InputError(f"q, k and v differ in dtype: {q.dtype}, {k.dtype}, {v.dtype}")
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise InputError(f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit each other")
    if k.shape[2] == 0 or q.shape[2] % k.shape[2]:
        raise InputError(f"{q.shape[2]} query heads are not a multiple of {k.shape[2]} heads of keys and values")
    if score not in SCORES:
        raise ConfigError(f"score={score!r} is not one of {', '.join(SCORES)}")
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout={dropout} is not in [0, 1)")
