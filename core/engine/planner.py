"""`plan`, the choice of how an attention is computed: backends say what they would cost, and the cheapest serves."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch

from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Problem
from zoo.core.engine.validation import check_dropout, check_kinds
from zoo.core.errors import ConfigError
from zoo.core.patterns.canonical import by_offset, normal
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.normalizers import Hard, Kernel, Norm


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
    together: bool = False,
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
        together: whether these are the queries' too, and each is in one piece.
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
        together=together,
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
    return _remembered(problem, backend) if _lasting(problem) else _choose(problem, backend)


def _lasting(problem: Problem) -> bool:
    """Tell whether to remember: dynamo sees through no cache, and a cache must keep no tensor and no module alive."""
    if torch.compiler.is_compiling() or not problem.pattern.by_value:
        return False
    return problem.norm in ("softmax", Kernel(), Hard(), Hard(sample=True))


def _choose(problem: Problem, backend: str) -> Plan:
    if backend == "auto":
        best, *others = (offer for offer in offers(problem).values() if isinstance(offer, Plan))
        for offer in others:  # dynamo follows no `min` with a key, where lengths are symbols
            if (offer.work, offer.bytes) < (best.work, best.bytes):
                best = offer
        return best
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


def better_apart(problem: Problem, backend: str) -> bool:
    """Tell whether rows that start at different positions are computed one by one, each with a start that is known."""
    if problem.placed or problem.pattern.by_row or problem.device == "meta" or torch.compiler.is_compiling():
        return False
    return _apart_remembered(problem, backend) if _lasting(problem) else _apart(problem, backend)


def _apart(problem: Problem, backend: str) -> bool:
    alone = replace(problem, batch=1, start=0)
    if backend == "auto":
        return problem.batch * choose(alone).work < choose(problem).work
    known = BACKENDS.get(backend)
    return known is not None and known.refuses(_simple(problem)) is not None and known.refuses(_simple(alone)) is None


_apart_remembered = lru_cache(maxsize=512)(_apart)


START = 4e6
"""Operations of a large product in the time that one more call of `attend` takes: about 100 µs at 40 GFLOP/s."""


def sets_apart(problem: Problem, lengths: list[int]) -> Literal["", "rows", "alone"]:
    """Tell whether packed sets are computed apart, so that scores between sets are never made.

    Args:
        problem: what is asked; its sets stand together.
        lengths: vectors of each set, of all rows.

    Returns:
        Whether each set is a row of its own, padded to the longest, or a call of its own; empty for neither.
    """
    offsets = by_offset(problem.pattern) and problem.bias in ("", "relative")
    themselves = problem.start == 0 and problem.queries == problem.keys
    if not (offsets and themselves and lengths and problem.device == "cpu") or problem.weights:
        return ""
    longest = max(lengths)
    apart = replace(problem, batch=len(lengths), queries=longest, keys=longest, packed=False, together=False)
    rows, whole = choose(apart).work, choose(problem).work
    least = min(rows, whole)
    if START * len(lengths) < least:
        one = replace(apart, batch=1, padded=False)
        if sum(START + choose(replace(one, queries=n, keys=n)).work for n in lengths) < least:
            return "alone"
    return "rows" if rows < whole else ""
