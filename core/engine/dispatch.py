"""`attend`, the one function that computes attention: validate, prepare, partition, plan, run.

One file of this folder is one of these steps: `validation`, `preparation`, `partition`, `planner`; backends run.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values, d head size, e value size.
"""

from typing import Literal, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Problem
from zoo.core.engine import one_query, tracing
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.partition import partition
from zoo.core.engine.planner import choose
from zoo.core.engine.preparation import prepare
from zoo.core.engine.validation import check, validate
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.normalizers import Norm
from zoo.core.scoring.scores import Score

PLAIN = "scaled_dot", 0.0, False, "auto", "softmax"
"""Score, dropout, weights, backend and norm of a call that wants nothing in particular."""


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
    plain = type(pattern) is Full and keys is None and bias is None and k_positions is None and type(q_start) is int
    if plain and (score, dropout, return_weights, backend, norm) == PLAIN and one_query.serves(q, k, v):
        check(q, k, v, score, dropout)
        return one_query.attend_to_all(q, k, v)
    given = Arguments(
        q,
        k,
        v,
        pattern=pattern,
        keys=keys,
        bias=Dense(bias) if isinstance(bias, Tensor) else bias,
        score=score,
        dropout=dropout,
        q_start=q_start,
        return_weights=return_weights,
        backend=backend,
        norm=norm,
        k_positions=k_positions,
        whole=whole,
    )
    validate(given)
    y, weights = _attend(prepare(given))
    return y if weights is None else (y, weights)


def _attend(prepared: Arguments) -> tuple[Tensor, Tensor | None]:
    problem = prepared.problem()
    parts = partition(prepared, problem)
    if parts is None:
        return compute(prepared, problem)
    answers, weights = zip(*(compute(call, call.problem()) for call in parts.calls), strict=True)
    return parts.join(list(answers)), torch.cat(weights) if prepared.return_weights else None


def compute(prepared: Arguments, problem: Problem) -> tuple[Tensor, Tensor | None]:
    """Run the backend that the planner chooses, and give answer and weights; the latter where they are wanted.

    Args:
        prepared: arguments that `prepare` has seen.
        problem: of these.

    Raises:
        ConfigError: If the forced backend cannot serve.
    """
    chosen = choose(problem)
    if tracing.watched():
        tracing.tell(chosen, problem)
    q, k, v, wanted = prepared.q, prepared.k, prepared.v, prepared.return_weights
    if q.device.type == "meta":  # shapes only
        y = q.new_empty(*q.shape[:3], v.shape[3])
        return y, q.new_empty(q.shape[0], q.shape[2], q.shape[1], k.shape[1]) if wanted else None
    full = torch.compiler.is_exporting() or (q.numel() and k.numel())
    name = chosen.backend if full else "reference"  # the others need not know empty sets
    y, weights = BACKENDS[name].run(prepared.call())
    return y.transpose(1, 2).to(v.dtype), weights.to(v.dtype) if wanted and weights is not None else None
