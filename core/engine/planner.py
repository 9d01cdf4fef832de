"""`plan`, the choice of a backend: each backend predicts its cost, and the cheapest is used."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from inspect import signature
from typing import ParamSpec

import torch

from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Problem
from zoo.core.engine.validation import check_problem
from zoo.core.errors import ConfigError
from zoo.core.ops.first_order import transforms_active
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.pattern import Full
from zoo.core.scoring.normalizers import Hard, Kernel

P = ParamSpec("P")

TRACED = ("scatter", "dense", "reference")
"""Backends of exported programs, in order of preference: their steps are the same for all lengths; the last serves all
problems."""


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


def _taking_fields(problem: Callable[P, Problem]) -> Callable[[Callable[[Problem], Plan]], Callable[P, Plan]]:
    """Let a function of a `Problem` be called with the fields of one."""

    def decorate(function: Callable[[Problem], Plan]) -> Callable[P, Plan]:
        @wraps(function)
        def with_fields(*args: P.args, **fields: P.kwargs) -> Plan:
            return function(problem(*args, **fields))

        with_fields.__signature__ = signature(problem)  # type: ignore[attr-defined]
        return with_fields

    return decorate


@_taking_fields(Problem)
def plan(problem: Problem) -> Plan:
    """Choose the cheapest backend for a problem, without computing it; equal problems are answered from a cache.

    The keywords are the fields of `zoo.core.backends.problem.Problem`, as in
    `plan(Causal(), queries=512, keys=512, heads=8, head_dim=64)`.

    Raises:
        ConfigError: If the forced backend does not exist or cannot serve the problem, or a number has no meaning.
    """
    check_problem(problem)
    return choose(problem)


def offers(problem: Problem) -> dict[str, Plan | str]:
    """Ask every backend: its plan, or the reason why it cannot serve."""
    problem = simplified(problem)
    answers: dict[str, Plan | str] = {}
    for name, candidate in BACKENDS.items():
        reason = candidate.refuses(problem)
        if reason is None:
            cost = candidate.cost(problem)
            answers[name] = Plan(name, cost.flops, cost.bytes, cost.why, cost.work)
        else:
            answers[name] = reason
    return answers


def choose(problem: Problem) -> Plan:
    """Choose a backend for a problem that is known to have a meaning; see `plan`."""
    if torch.compiler.is_exporting() and problem.backend == "auto":
        return _traced(problem)
    return _choose_cached(problem) if cacheable(problem) else _choose(problem)


def _traced(problem: Problem) -> Plan:
    """Choose without comparing costs: lengths of an exported program are symbols, and one program serves them all."""
    problem = simplified(problem)
    masked = problem.pattern != Full() or problem.padded or problem.packed
    for name in TRACED:
        wrong = name == "dense" and masked  # ONNX's softmax of a row with nothing to read is NaN
        if not wrong and BACKENDS[name].refuses(problem) is None:
            break
    return Plan(name, 0, 0, "serves every length in an exported program")


def cacheable(problem: Problem) -> bool:
    """Tell whether to remember: dynamo sees through no cache, and a cache must keep no tensor and no module alive.

    Under transforms of `torch.func` some backends cannot serve, of which a problem says nothing.
    """
    if torch.compiler.is_compiling() or transforms_active() or not problem.pattern.by_value:
        return False
    return problem.norm in ("softmax", Kernel(), Hard(), Hard(sample=True))


def _choose(problem: Problem) -> Plan:
    backend = problem.backend
    if backend == "auto":
        best, *others = (offer for offer in offers(problem).values() if isinstance(offer, Plan))
        for offer in others:  # dynamo follows no `min` with a key, where lengths are symbols
            if (offer.work, offer.bytes) < (best.work, best.bytes):
                best = offer
        return best
    if backend not in BACKENDS:
        raise ConfigError(f"backend={backend!r} is not one of {', '.join(['auto', *BACKENDS])}")
    problem = simplified(problem)
    reason = BACKENDS[backend].refuses(problem)
    if reason:
        raise ConfigError(f"backend={backend!r} cannot serve {problem.pattern!r}: {reason}")
    cost = BACKENDS[backend].cost(problem)
    return Plan(backend, cost.flops, cost.bytes, f"forced; it {cost.why}", cost.work)


_choose_cached = lru_cache(maxsize=512)(_choose)


def simplified(problem: Problem) -> Problem:
    """Give the problem with its pattern in canonical form."""
    start = None if problem.placed else problem.start
    return replace(problem, pattern=canonical(problem.pattern, problem.queries, problem.keys, start))


def forget() -> None:
    """Forget what was chosen, since there are other backends now."""
    _choose_cached.cache_clear()
