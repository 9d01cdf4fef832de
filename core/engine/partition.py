"""Partition of a call where smaller calls are faster: rows with different starts, and sets packed into a row."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from zoo.core.backends import BACKENDS
from zoo.core.backends.costs import ATTEND_CALL
from zoo.core.backends.problem import Problem
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.planner import cacheable, choose, simplified
from zoo.core.engine.preparation import prepare
from zoo.core.engine.validation import validate
from zoo.core.patterns.canonical import by_offset
from zoo.core.patterns.padding import Lengths, Segments


@dataclass(frozen=True)
class Partition:
    """Several calls in place of one.

    Args:
        calls: arguments of each.
        join: makes the answer of the whole from the answers of the calls.
    """

    calls: list[Arguments]
    join: Callable[[list[Tensor]], Tensor]


def partition(whole: Arguments, problem: Problem) -> Partition | None:
    """Cut a call into several, if these are predicted to take less time; None if not.

    Args:
        whole: prepared arguments.
        problem: of these.
    """
    if isinstance(whole.q_start, Tensor) and rows_pay(problem):
        return _rows(whole, whole.q_start.tolist())
    if not isinstance(whole.keys, Segments) or not problem.together or whole.backend != "auto":
        return None
    whole.keys.valid(whole.k.shape[0], whole.k.shape[1], whole.k.device)
    how = sets_pay(problem, whole.keys.unpacked.lengths.tolist())
    return {"alone": _sets, "rows": _sets_as_rows}[how](whole, whole.keys) if how else None


def _rows(whole: Arguments, starts: list[int]) -> Partition:
    calls = [whole.row(index, start) for index, start in enumerate(starts)]
    for call in calls:
        validate(call)
    return Partition([prepare(call) for call in calls], torch.cat)


def _sets(whole: Arguments, keys: Segments) -> Partition:
    """Call for each set, the longest first: what a bias makes for its offsets serves the others."""
    sets, (batch, length) = keys.unpacked, whole.q.shape[:2]
    alone = list(zip(sets.each(whole.q), sets.each(whole.k), sets.each(whole.v), strict=True))
    order = sorted(range(len(alone)), key=lambda n: -alone[n][0].shape[1])
    calls = [replace(whole, q=q, k=k, v=v, keys=None) for q, k, v in (alone[n] for n in order)]

    def join(ys: list[Tensor]) -> Tensor:
        found = dict(zip(order, ys, strict=True))
        return sets.concatenate([found[n] for n in range(len(ys))], batch, length)

    return Partition(calls, join)


def _sets_as_rows(whole: Arguments, keys: Segments) -> Partition:
    sets, (batch, length) = keys.unpacked, whole.q.shape[:2]
    q, k, v = (sets.pad(x) for x in (whole.q, whole.k, whole.v))
    call = replace(whole, q=q, k=k, v=v, keys=Lengths(sets.lengths))
    return Partition([call], lambda ys: sets.repack(ys[0], batch, length))


def rows_pay(problem: Problem) -> bool:
    """Tell whether rows that start at different positions are computed one by one, each with a start that is known."""
    if problem.placed or problem.pattern.by_row or problem.device == "meta" or torch.compiler.is_compiling():
        return False
    return _rows_pay_cached(problem) if cacheable(problem) else _rows_pay(problem)


def _rows_pay(problem: Problem) -> bool:
    alone = replace(problem, batch=1, start=0)
    if problem.backend == "auto":
        return problem.batch * choose(alone).work < choose(problem).work
    forced = BACKENDS.get(problem.backend)
    return forced is not None and bool(forced.refuses(simplified(problem))) and not forced.refuses(simplified(alone))


_rows_pay_cached = lru_cache(maxsize=512)(_rows_pay)


def forget() -> None:
    """Forget what was decided, since there are other backends now."""
    _rows_pay_cached.cache_clear()


def sets_pay(problem: Problem, lengths: list[int]) -> Literal["", "rows", "alone"]:
    """Tell whether packed sets are computed apart, so that scores between sets are never made.

    Args:
        problem: of sets that are contiguous.
        lengths: vectors of each set, of all rows.

    Returns:
        Whether each set is a row of its own, padded to the longest, or a call of its own; empty for neither.
    """
    offsets = by_offset(problem.pattern) and problem.bias in ("", "relative")
    themselves = problem.start == 0 and problem.queries == problem.keys
    if not (offsets and themselves and lengths and problem.device == "cpu") or problem.weights:
        return ""
    longest = max(lengths)
    unpacked = replace(problem, batch=len(lengths), queries=longest, keys=longest, packed=False, together=False)
    rows, packed = choose(unpacked).work, choose(problem).work
    least = min(rows, packed)
    if ATTEND_CALL * len(lengths) < least:
        one = replace(unpacked, batch=1, padded=False)
        if sum(ATTEND_CALL + choose(replace(one, queries=n, keys=n)).work for n in lengths) < least:
            return "alone"
    return "rows" if rows < packed else ""
