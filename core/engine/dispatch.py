"""`attend`, the one function that computes attention; `zoo.core.engine.planner` chooses how.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values, d head size, e value size.
"""

from math import sqrt
from typing import Any, Literal, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Call, Problem
from zoo.core.engine import tracing as observe
from zoo.core.engine.planner import better_apart, choose, sets_apart
from zoo.core.engine.validation import check, check_kinds, check_placed, check_start
from zoo.core.errors import ConfigError
from zoo.core.patterns.canonical import normal
from zoo.core.patterns.padding import Keys, Lengths, Segments
from zoo.core.patterns.pattern import Full, Or, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.edge_bias import EdgeBias, for_pattern
from zoo.core.scoring.normalizers import Kernel, Norm
from zoo.core.scoring.scores import General, Score


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
    whole: bool = ...,
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
    whole: bool = ...,
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
    whole: bool = True,
) -> Float[Tensor, "b q h e"] | tuple[Float[Tensor, "b q h e"], Float[Tensor, "b h q k"]]:
    """Let each query read the values of the keys it may read, arXiv:1706.03762 eq. 1.

    A query with nothing to read gives exactly 0, with gradient 0.

    Args:
        q: queries by head.
        k: keys; as many heads as `q`, or a divisor (grouped queries, arXiv:2305.13245).
        v: values, one for each key.
        pattern: who may read whom; True means "may read".
        keys: which keys are there; None if all are.
        bias: added to the scores after scaling: a tensor, or a bias of `zoo.core.scoring.bias`.
        score: `scaled_dot` (divided by the root of d), `dot`, or a score with parameters.
        dropout: probability that a weight is dropped, in [0, 1); applied whenever it is above 0.
        q_start: absolute position of the first query, for all rows or for each.
        return_weights: whether to return the weights too; their rows sum to 1, or to 0 with nothing to read.
        backend: `auto`, or the name of a backend to force.
        norm: how scores become weights: `softmax`, `Kernel` or `Hard`.
        k_positions: absolute positions of the keys by row, where they are not 0, 1, 2, …
        whole: whether these are all queries and keys that there are; of a part, a pattern may name others.

    Raises:
        InputError: If shapes or dtypes do not fit.
        ConfigError: If score, dropout or backend is unknown or cannot be served.
    """
    check(q, k, v, score, dropout)
    check_kinds(pattern, keys, bias, norm)
    check_start(q_start, q.shape[0])
    if keys is not None and pattern.keeps(keys):
        keys = None
    if k_positions is None:
        pattern.fit(q.shape[1], k.shape[1], q_start if isinstance(q_start, int) else None, whole)
    bias = for_pattern(pattern, Dense(bias) if isinstance(bias, Tensor) else bias)
    if isinstance(pattern, Or) and isinstance(bias, EdgeBias) and isinstance(q_start, int) and k_positions is None:
        pattern = normal(pattern, q.shape[1], k.shape[1], q_start)
        bias = bias.onto(pattern)
    check_placed(q, k, v, bias, k_positions)
    if isinstance(bias, Dense):
        bias = Dense(bias.added.to(q.dtype))  # as other biases do it
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
        together=isinstance(keys, Segments) and not torch.compiler.is_compiling() and keys.together,
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
        return _row_by_row(q, k, v, pattern, keys, bias, q_start, {**own, "whole": whole})
    if isinstance(keys, Segments) and problem.together and backend == "auto":
        keys.valid(k.shape[0], k.shape[1], k.device)
        sets = keys.apart
        how = sets_apart(problem, sets.lengths.tolist())
        if how == "alone":
            each = list(zip(sets.each(q), sets.each(k), sets.each(v), strict=True))
            # the longest first: what a bias makes for its offsets serves the others
            order = sorted(range(len(each)), key=lambda n: -each[n][0].shape[1])
            ys = {n: attend(*each[n], pattern, None, bias, score, dropout, norm=norm) for n in order}
            return sets.together([ys[n] for n in range(len(each))], q.shape[0], q.shape[1])
        if how == "rows":
            rows = sets.spread(q), sets.spread(k), sets.spread(v)
            y = attend(*rows, pattern, Lengths(sets.lengths), bias, score, dropout, norm=norm)
            return sets.join(y, q.shape[0], q.shape[1])
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
