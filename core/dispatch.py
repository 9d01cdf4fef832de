"""`attend`, the one function that computes attention, and `plan`, the choice of how.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values, d head size, e value size.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from typing import Any, Literal, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core import observe
from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Call, Problem
from zoo.core.bias import ALiBi, Bias, Dense, RelativeTable
from zoo.core.errors import ConfigError, InputError
from zoo.core.keys import Keys, Segments
from zoo.core.norm import Hard, Kernel, Norm
from zoo.core.normal import normal
from zoo.core.pattern import Full, Pattern
from zoo.core.score import General, Score

SCORES = ("scaled_dot", "dot")


@dataclass(frozen=True)
class Plan:
    """Say which backend serves a problem, what that costs, and why it was chosen.

    Args:
        backend: its name.
        flops: operations of the forward pass, a multiply-add counted as two; counters agree where they see them.
        bytes: inputs, outputs, and what is stored between them.
        why: a sentence.
        work: predicted time, in operations of a large matrix product; the least is chosen.
    """

    backend: str
    flops: int
    bytes: int
    why: str
    work: float = 0.0


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
    kv_heads: int | None = None,
    start: int | None = 0,
    padded: bool = False,
    packed: bool = False,
    placed: bool = False,
    bias: str = "",
    bias_grad: bool = False,
    bias_values: bool = False,
    score: str = "scaled_dot",
    norm: Norm = "softmax",
    dropout: float = 0.0,
    weights: bool = False,
    backend: str = "auto",
) -> Plan:
    """Choose the cheapest backend for a problem, without computing it; equal questions are answered from a cache.

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
        kv_heads: heads of keys and values; `heads` if None.
        start: position of the first query; None if rows differ.
        padded: whether some keys are not there.
        packed: whether keys come in segments.
        placed: whether keys stand at given positions.
        bias: kind of what is added to the scores: `dense`, `relative` or `edges`; empty for nothing.
        bias_grad: whether that needs a gradient.
        bias_values: whether it adds to the values too.
        score: one of `scaled_dot`, `dot`, or the class of a score with parameters.
        norm: how scores become weights.
        dropout: probability in [0, 1).
        weights: whether the attention weights are wanted.
        backend: a name to force, or `auto`.

    Raises:
        ConfigError: If the forced backend does not exist or cannot serve the problem.
    """
    check_kinds(pattern, None, None, norm)
    if min(queries, keys, heads, head_dim, batch) < 0 or heads % (kv_heads or heads or 1):
        shown = f"queries={queries}, keys={keys}, {batch=}, {head_dim=}, {heads=}, {kv_heads=}"
        raise ConfigError(f"{shown}: none is negative, and heads are a multiple of kv_heads")
    if bias not in ("", "dense", "relative", "edges"):
        raise ConfigError(f"bias={bias!r} is not one of dense, relative, edges, or empty")
    check_dropout(dropout)
    problem = Problem(
        pattern=pattern,
        batch=batch,
        queries=queries,
        keys=keys,
        heads=heads,
        head_dim=head_dim,
        value_dim=head_dim if value_dim is None else value_dim,
        dtype=dtype,
        device=device,
        grad=grad,
        start=start,
        grouped=heads // (kv_heads or heads or 1),
        padded=padded,
        packed=packed,
        placed=placed,
        bias=bias,
        bias_grad=bias_grad,
        bias_values=bias_values,
        score=score,
        norm=norm,
        dropout=dropout,
        weights=weights,
    )
    return choose(problem, backend)


def offers(problem: Problem) -> dict[str, Plan | str]:
    """Ask every backend: its plan, or the reason why it cannot serve."""
    problem = _simple(problem)
    answers: dict[str, Plan | str] = {}
    for name, candidate in BACKENDS.items():
        reason = candidate.refuses(problem)
        if reason is None:
            cost = candidate.cost(problem)
            answers[name] = Plan(name, cost.flops, cost.bytes, cost.why, cost.work)
        else:
            answers[name] = reason
    return answers


def choose(problem: Problem, backend: str = "auto") -> Plan:
    """Choose a backend for a problem; see `plan`."""
    lasting = problem.pattern.by_value and problem.norm in ("softmax", Kernel(), Hard(), Hard(sample=True))
    if torch.compiler.is_compiling() or not lasting:  # dynamo sees through no cache; and it must keep no module alive
        return _choose(problem, backend)
    return _remembered(problem, backend)


def _choose(problem: Problem, backend: str) -> Plan:
    if backend == "auto":
        served = [offer for offer in offers(problem).values() if isinstance(offer, Plan)]
        return min(served, key=lambda offer: (offer.work, offer.bytes))
    if backend not in BACKENDS:
        raise ConfigError(f"backend={backend!r} is not one of {', '.join(['auto', *BACKENDS])}")
    problem = _simple(problem)
    reason = BACKENDS[backend].refuses(problem)
    if reason:
        raise ConfigError(f"backend={backend!r} cannot serve {problem.pattern!r}: {reason}")
    cost = BACKENDS[backend].cost(problem)
    return Plan(backend, cost.flops, cost.bytes, f"forced; it {cost.why}", cost.work)


_remembered = lru_cache(maxsize=512)(_choose)


def _simple(problem: Problem) -> Problem:
    start = None if problem.placed else problem.start
    return replace(problem, pattern=normal(problem.pattern, problem.queries, problem.keys, start))


@overload
def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = ...,
    keys: Keys | None = ...,
    bias: Tensor | Bias | None = ...,
    score: str | Score = ...,
    dropout: float = ...,
    q_start: int | Tensor = ...,
    return_weights: Literal[False] = ...,
    backend: str = ...,
    norm: Norm = ...,
    k_positions: Tensor | None = ...,
) -> Tensor: ...


@overload
def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = ...,
    keys: Keys | None = ...,
    bias: Tensor | Bias | None = ...,
    score: str | Score = ...,
    dropout: float = ...,
    q_start: int | Tensor = ...,
    *,
    return_weights: Literal[True],
    backend: str = ...,
    norm: Norm = ...,
    k_positions: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...


def attend(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    pattern: Pattern = Full(),
    keys: Keys | None = None,
    bias: Float[Tensor, "#b #h #q #k"] | Bias | None = None,
    score: str | Score = "scaled_dot",
    dropout: float = 0.0,
    q_start: int | Int[Tensor, "..."] = 0,
    return_weights: bool = False,
    backend: str = "auto",
    norm: Norm = "softmax",
    k_positions: Int[Tensor, "b k"] | None = None,
) -> Float[Tensor, "b q h e"] | tuple[Float[Tensor, "b q h e"], Float[Tensor, "b h q k"]]:
    """Let each query read the values of the keys it may read, arXiv:1706.03762 eq. 1.

    A query with nothing to read gives exactly 0, with gradient 0.

    Args:
        q: queries by head.
        k: keys; as many heads as `q`, or a divisor (grouped queries, arXiv:2305.13245).
        v: values, one for each key.
        pattern: who may read whom; True means "may read".
        keys: which keys are there; None if all are.
        bias: added to the scores after scaling: a tensor, or a bias of `zoo.core.bias`.
        score: `scaled_dot` (divided by the root of d), `dot`, or a score with parameters.
        dropout: probability that a weight is dropped, in [0, 1); applied whenever it is above 0.
        q_start: absolute position of the first query, for all rows or for each.
        return_weights: whether to return the weights too; their rows sum to 1, or to 0 with nothing to read.
        backend: `auto`, or the name of a backend to force.
        norm: how scores become weights: `softmax`, `Kernel` or `Hard`.
        k_positions: absolute positions of the keys by row, where they are not 0, 1, 2, …

    Raises:
        InputError: If shapes or dtypes do not fit.
        ConfigError: If score, dropout or backend is unknown or cannot be served.
    """
    check(q, k, v, score, dropout)
    check_kinds(pattern, keys, bias, norm)
    if isinstance(q_start, Tensor) and q_start.shape != q.shape[:1]:
        raise InputError(
            f"q_start of shape {tuple(q_start.shape)} for a batch of {q.shape[0]}: one number, or one a row"
        )
    if k_positions is None:
        pattern.fit(q.shape[1], k.shape[1], q_start if isinstance(q_start, int) else None)
    bias = pattern.biased(Dense(bias) if isinstance(bias, Tensor) else bias)
    check_placed(q, k, bias, k_positions)
    if isinstance(norm, Kernel) and (bias is not None or isinstance(score, Score)):
        raise ConfigError(f"norm={norm!r} has no scores, so no bias or score={score!r} can be used")
    scale = 1 / sqrt(q.shape[3]) if score == "scaled_dot" else 1.0
    if isinstance(score, General):  # a product after all
        q, score = score.query(q.transpose(1, 2)).transpose(1, 2), "dot"
    bias_grad = bias is not None and any(x.requires_grad for x in bias.tensors)
    score_grad = isinstance(score, Score) and any(x.requires_grad for x in score.tensors)
    needs = bias_grad or score_grad or q.requires_grad or k.requires_grad or v.requires_grad
    problem = Problem(
        pattern=pattern,
        batch=q.shape[0],
        queries=q.shape[1],
        keys=k.shape[1],
        heads=q.shape[2],
        head_dim=q.shape[3],
        value_dim=v.shape[3],
        dtype=q.dtype,
        device=q.device.type,
        grad=needs and torch.is_grad_enabled(),
        start=q_start if isinstance(q_start, int) and k_positions is None else None,
        grouped=q.shape[2] // k.shape[2],
        padded=keys is not None,
        packed=isinstance(keys, Segments),
        placed=k_positions is not None,
        bias="" if bias is None else bias.kind,
        bias_grad=bias_grad and torch.is_grad_enabled(),
        bias_values=bias is not None and bias.adds_values,
        score=score if isinstance(score, str) else type(score).__name__,
        norm=norm,
        dropout=dropout,
        weights=return_weights,
    )
    if isinstance(q_start, Tensor) and better_apart(problem, backend):
        own = {"score": score, "dropout": dropout, "return_weights": return_weights, "backend": backend, "norm": norm}
        return _row_by_row(q, k, v, pattern, keys, bias, q_start, own)
    chosen = choose(problem, backend)
    if observe.watched():
        observe.tell(chosen, problem)
    if q.device.type == "meta":  # shapes only
        y = q.new_empty(*q.shape[:3], v.shape[3])
        return (y, q.new_empty(q.shape[0], q.shape[2], q.shape[1], k.shape[1])) if return_weights else y
    valid = None if keys is None else keys.valid(k.shape[0], k.shape[1], k.device)
    if valid is not None:
        k, v = (x.masked_fill(~valid[..., None, None], 0) for x in (k, v))
    segments = None
    if isinstance(keys, Segments):
        segments = (keys.of_queries(q.shape[1]).to(q.device), keys.ids.to(q.device))
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    call = Call(
        q=q,
        k=k,
        v=v,
        pattern=normal(pattern, problem.queries, problem.keys, problem.start),
        start=q_start,
        valid=valid,
        bias=bias,
        scale=scale,
        dropout=dropout,
        norm=norm,
        segments=segments,
        key_positions=k_positions,
        score=score if isinstance(score, Score) else None,
        weights=return_weights,
    )
    name = chosen.backend if q.numel() and k.numel() else "reference"  # the others need not know empty sets
    y, weights = BACKENDS[name].run(call)
    y = y.transpose(1, 2).to(v.dtype)
    return (y, weights.to(v.dtype)) if return_weights and weights is not None else y


def better_apart(problem: Problem, backend: str) -> bool:
    """Tell whether rows that start at different positions are computed one by one, each with a start that is known."""
    if problem.placed or problem.pattern.by_row or problem.device == "meta" or torch.compiler.is_compiling():
        return False
    alone = replace(problem, batch=1, start=0)
    if backend == "auto":
        return problem.batch * choose(alone).work < choose(problem).work
    known = BACKENDS.get(backend)
    return known is not None and known.refuses(_simple(problem)) is not None and known.refuses(_simple(alone)) is None


def _row_by_row(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern,
    keys: Keys | None,
    bias: Bias | None,
    starts: Tensor,
    options: dict[str, Any],
) -> Any:
    answers = []
    for row, start in enumerate(starts.tolist()):
        own = None if keys is None else keys.row(row)
        added = Dense(bias.added[row : row + 1]) if isinstance(bias, Dense) and len(bias.added) > 1 else bias
        one = slice(row, row + 1)
        answers.append(attend(q[one], k[one], v[one], pattern, own, added, q_start=start, **options))
    if options["return_weights"]:
        return tuple(torch.cat(parts) for parts in zip(*answers, strict=True))
    return torch.cat(answers)


def check(q: Tensor, k: Tensor, v: Tensor, score: str | Score, dropout: float, norm: Norm = "softmax") -> None:
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
    if isinstance(score, str) and score not in SCORES:
        raise ConfigError(f"score={score!r} is not one of {', '.join(SCORES)}, nor a Score")
    check_dropout(dropout)


def check_placed(q: Tensor, k: Tensor, bias: Bias | None, k_positions: Tensor | None) -> None:
    """Refuse a bias or positions of keys that do not fit; see `attend`."""
    if isinstance(bias, Dense):
        wanted = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
        if any(got not in (1, want) for got, want in zip(bias.added.shape, wanted, strict=True)):
            raise InputError(f"bias of shape {tuple(bias.added.shape)} for (batch, heads, queries, keys) = {wanted}")
    elif isinstance(bias, RelativeTable | ALiBi) and bias.tensors[0].shape[0] not in (1, q.shape[2]):
        raise InputError(f"{type(bias).__name__} of {bias.tensors[0].shape[0]} heads for {q.shape[2]} heads of queries")
    if k_positions is not None and k_positions.shape != k.shape[:2]:
        raise InputError(f"k_positions of shape {tuple(k_positions.shape)} for (batch, keys) = {tuple(k.shape[:2])}")


def check_kinds(pattern: Any, keys: Any, bias: Any, norm: Any) -> None:
    """Refuse what is of another kind than `attend` asks for."""
    if not isinstance(pattern, Pattern):
        raise ConfigError(f"pattern={pattern!r} is no Pattern, such as Causal()")
    if keys is not None and not isinstance(keys, Keys):
        raise ConfigError(f"keys={keys!r} is no Keys, such as Lengths(t) or Valid(mask)")
    if isinstance(bias, Tensor) and not bias.is_floating_point():
        raise InputError(f"bias is of {bias.dtype}: what may be read says a pattern, Explicit(mask), or Valid(mask)")
    if norm != "softmax" and not isinstance(norm, Kernel | Hard):
        raise ConfigError(f"norm={norm!r} is not softmax, nor a Kernel or Hard")


def check_dropout(dropout: float) -> None:
    """Refuse what is no probability."""
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout={dropout} is not in [0, 1)")
