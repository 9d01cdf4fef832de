"""Predicted and measured time of every attention backend for one problem, for `zoo plan`."""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from zoo.bench.speed.timing import Spread, seconds
from zoo.core.backends.problem import Problem
from zoo.core.engine.dispatch import attend
from zoo.core.engine.planner import Plan, choose, offers
from zoo.core.errors import ConfigError
from zoo.core.patterns.padding import Keys, Lengths, Segments
from zoo.core.patterns.pattern import And, Or, Pattern
from zoo.core.scoring.bias import Bias
from zoo.core.scoring.relative_bias import RelativeTable
from zoo.processors import available_memory

SLOWEST = 30
"""Times the predicted time of the chosen backend; what is predicted slower is not measured."""
ROUNDS, SECONDS = 15, 10.0
"""Timed runs of each backend, as far as they end in so many seconds; one in any case."""
COUNTED = 2**30
"""Pairs up to which a joined pattern is counted one by one."""


@dataclass(frozen=True)
class Offer:
    """Give one backend's answer.

    Args:
        name: of the backend.
        refusal: why it cannot serve; empty if it can.
        plan: what it predicts.
        chosen: whether it is the one that serves.
        predicted: its predicted time over that of the chosen.
        measured: seconds; 0 if not measured.
        ratio: its measured time over that of the chosen, round by round.
        skipped: why it was not measured.
    """

    name: str
    refusal: str = ""
    plan: Plan | None = None
    chosen: bool = False
    predicted: float = 0.0
    measured: float = 0.0
    ratio: Spread | None = None
    skipped: str = ""


def compare(problem: Problem) -> list[Offer]:
    """Plan a problem on every backend; those that support it come first, in the order of predicted time.

    Raises:
        ConfigError: If the forced backend does not exist or cannot serve.
    """
    chosen = choose(problem)
    served, refused = [], []
    for name, answer in offers(problem).items():
        if isinstance(answer, Plan):
            served.append(Offer(name, "", answer, name == chosen.backend, answer.work / max(chosen.work, 1)))
        else:
            refused.append(Offer(name, answer))
    return [*sorted(served, key=lambda offer: (not offer.chosen, offer.predicted)), *refused]


def measure(
    problem: Problem,
    answers: Sequence[Offer],
    *,
    ran: Callable[[int, int], None] | None = None,
    within: float = SECONDS,
    slowest: float | int | None = None,
) -> list[Offer]:
    """Run each backend that can serve, in turns, unless that would take too long or too much memory.

    Args:
        problem: what to compute; tensors are drawn for it.
        answers: of `compare`.
        ran: called after each run with how many there have been, and how many there will be.
        within: seconds in which all runs end, if one of each takes no longer.
        slowest: times the predicted time of the chosen backend; what is predicted slower is not measured; `SLOWEST`
            if None.

    Raises:
        ConfigError: If there is no such device here, or no bias of that kind can be drawn.
    """
    if problem.device != "cpu" and not (problem.device == "cuda" and torch.cuda.is_available()):
        raise ConfigError(f"device={problem.device!r} is not here: it can be planned for, and not measured")
    room = _room(problem.device)
    skipped = {offer.name: _skips(problem, offer, room, slowest or SLOWEST) for offer in answers}
    run = [offer.name for offer in answers if not offer.refusal and not skipped[offer.name]]
    job = _job(problem)
    jobs: dict[str, Callable[[], object]] = {name: partial(job, name) for name in run}
    times, failed = _in_turns(jobs, ran or (lambda done, total: None), within)
    first = next((times[offer.name] for offer in answers if offer.chosen and offer.name in times), None)
    return [_with_times(offer, times.get(offer.name), first, (skipped | failed)[offer.name]) for offer in answers]


def _with_times(offer: Offer, own: list[float] | None, chosen: list[float] | None, skipped: str) -> Offer:
    if own is None:
        return replace(offer, skipped=skipped)
    ratio = Spread.of([a / b for a, b in zip(own, chosen, strict=True)]) if chosen else None
    return replace(offer, measured=Spread.of(own).median, ratio=ratio)


def _skips(problem: Problem, offer: Offer, room: float, slowest: float | int) -> str:
    if offer.plan is None:
        return ""
    needs = offer.plan.bytes * (2 if problem.grad else 1)
    if needs > room:
        return f"skipped: {needs / 1e9:.3g} GB do not fit the {room / 1e9:.3g} GB free"
    return f"skipped: predicted over {slowest} times slower" if offer.predicted > slowest else ""


def _room(device: str) -> float:
    """Give the bytes that may be used: half of what is free."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0] / 2
    free = available_memory()
    return math.inf if free is None else free / 2


def _in_turns(
    jobs: dict[str, Callable[[], object]], ran: Callable[[int, int], None], within: float
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Time every job in each round, in changing order; give the times, and what went wrong.

    A round before them warms up, says how many there can be, and leaves out what fails, as for want of a compiler.
    """
    warm, failed = 0.0, {}
    for done, name in enumerate(jobs, start=1):
        try:
            warm += seconds(jobs[name])
        except Exception as error:
            failed[name] = f"failed: {type(error).__name__}: {error}".partition("\n")[0]
        ran(done, len(jobs) * (1 + ROUNDS))
    times: dict[str, list[float]] = {name: [] for name in jobs if name not in failed}
    rounds = max(1, min(ROUNDS, int(within / max(warm, 1e-9))))
    for turn in range(rounds):
        for at, name in enumerate(times if turn % 2 else reversed(times), start=1):
            times[name].append(seconds(jobs[name]))
            ran(len(jobs) + turn * len(times) + at, len(jobs) + rounds * len(times))
    return times, failed


def _job(p: Problem) -> Callable[[str], object]:
    """Draw the tensors of a problem, and make what computes it on a backend."""
    generator = torch.Generator(p.device).manual_seed(0)

    def draw(*shape: int, grad: bool = p.grad) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=p.dtype, device=p.device).requires_grad_(grad)

    of_keys = p.heads // p.grouped
    q, k = draw(p.batch, p.queries, p.heads, p.head_dim), draw(p.batch, p.keys, of_keys, p.head_dim)
    v, upstream = (
        draw(p.batch, p.keys, of_keys, p.value_dim),
        draw(p.batch, p.queries, p.heads, p.value_dim, grad=False),
    )
    bias, keys = _bias(p, draw), _keys(p)

    def run(backend: str) -> None:
        with nullcontext() if p.grad else torch.no_grad():
            y = attend(q, k, v, p.pattern, keys, bias, p.score, p.dropout, p.start or 0, backend=backend, norm=p.norm)
        if p.grad:
            y.backward(upstream)

    return run


def _bias(p: Problem, draw: Callable[..., Tensor]) -> Tensor | Bias | None:
    if not p.bias:
        return None
    if p.bias == "dense":
        return draw(1, p.heads, p.queries, p.keys, grad=p.bias_grad)
    if p.bias == "relative":
        cover = p.pattern.cover()
        left, right = (p.keys if reach is None else min(reach, p.keys) for reach in (cover.left, cover.right))
        return RelativeTable(draw(p.heads, left + right + 1, grad=p.bias_grad), left)
    raise ConfigError(f"bias={p.bias!r} belongs to a graph: it can be planned for, and not measured")


def _keys(p: Problem) -> Keys | None:
    """Let the last tenth of the keys be missing, or pack two sets into each row."""
    if p.packed:
        of_keys, of_queries = (
            (torch.arange(n, device=p.device) * 2 // max(n, 1)).expand(p.batch, n) for n in (p.keys, p.queries)
        )
        return Segments(of_keys, of_queries)
    return Lengths(torch.full((p.batch,), p.keys - p.keys // 10, device=p.device)) if p.padded else None


def pairs(pattern: Pattern, queries: int, keys: int, start: int = 0) -> int | None:
    """Count the pairs that are allowed; None where looking at each would take too long.

    Args:
        pattern: who may read whom.
        queries: number of queries.
        keys: number of keys.
        start: position of the first query.
    """
    if isinstance(pattern, And | Or) and queries * keys > COUNTED:
        return None
    return pattern.pairs(queries, keys, start)
