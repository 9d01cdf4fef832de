"""`zoo bench speed --suite planner`: the time of the planner's choice over that of the best backend, its regret.

Problems are random, of every pattern that has a backend of its own, and the backends run in turns. What is predicted to
be many times slower than the choice is not measured.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import torch
from rich.table import Table

from zoo.bench.speed.backends import Offer, compare, measure
from zoo.core.backends.problem import Problem
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.local import Chunk, Neighbourhood, Window
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.patterns.sparse import Fixed, Globals, Strided

TARGETS = {"median": 1.0, "nine in ten": 1.1, "largest": 1.5}
SHORTEST, LONGEST = 4.0, 10.5
"""Of the lengths, as powers of 2: 16 to 1448 queries."""
LARGEST = 1 << 27
"""Batch times heads times pairs times channels, above which no problem is drawn: about 25 ms by products."""
SECONDS, SLOWEST = 1.2, 8.0
"""Of a problem; and times the predicted time of the choice, above which a backend is not measured."""
SHOWN = 5


@dataclass(frozen=True)
class Regret:
    """Give what the backends took for one problem.

    Args:
        problem: what was computed.
        chosen: what the planner chose.
        others: what else was measured.
    """

    problem: Problem
    chosen: Offer
    others: tuple[Offer, ...]

    @property
    def best(self) -> Offer:
        """The backend that took the least time, round by round."""
        return min((self.chosen, *self.others), key=_over_chosen)

    @property
    def ratio(self) -> float:
        """The choice's time over that of the best; 1 where it is the best."""
        return 1 / _over_chosen(self.best)

    @property
    def description(self) -> str:
        """The problem in words."""
        p = self.problem
        kind = f"{'bf16' if p.dtype == torch.bfloat16 else 'float32'}{', step' if p.grad else ''}"
        shape = f"{p.batch} x {p.heads} heads x {p.queries} x {p.head_dim}"
        pattern = "Edges" if isinstance(p.pattern, Edges) else repr(p.pattern)
        return f"{pattern}{', padded' if p.padded else ''}, {shape}, {kind}"


def _over_chosen(offer: Offer) -> float:
    return offer.ratio.median if offer.ratio else 1.0


def problems(count: int, device: str = "cpu", seed: int = 0) -> Iterator[Problem]:
    """Draw problems for which there is a choice.

    Args:
        count: how many.
        device: where they are computed.
        seed: of the draws.
    """
    generator = random.Random(seed)
    while count:
        problem = _drawn(generator, device)
        pairs = problem.batch * problem.heads * problem.queries**2
        if pairs * problem.head_dim <= LARGEST and sum(not offer.refusal for offer in compare(problem)) > 1:
            count -= 1
            yield problem


def _drawn(generator: random.Random, device: str) -> Problem:
    length = int(2 ** generator.uniform(SHORTEST, LONGEST))
    pattern = _pattern(generator, length)
    if isinstance(pattern, Neighbourhood):
        length = pattern.height * pattern.width
    return Problem(
        pattern,
        queries=length,
        keys=length,
        heads=generator.choice([1, 2, 4, 8, 12]),
        head_dim=generator.choice([16, 32, 64]),
        batch=generator.choice([1, 2, 4, 8]),
        dtype=generator.choice([torch.float32, torch.bfloat16]),
        device=device,
        grad=generator.random() < 0.5,
        start=0,
        padded=generator.random() < 0.25 and not isinstance(pattern, Edges),
    )


def _pattern(generator: random.Random, length: int) -> Pattern:
    reach = int(2 ** generator.uniform(0, 7))
    side = max(2, int(length**0.5))
    kind = generator.randrange(10)
    if kind == 0:
        return Full()
    if kind == 1:
        return Causal()
    if kind == 2:
        return Window(reach)
    if kind == 3:
        return Window(reach, 0)
    if kind == 4:
        return Window(reach, dilation=generator.choice([2, 4]))
    if kind == 5:
        return Chunk(reach, generator.randrange(3))
    if kind == 6:
        return Neighbourhood(side, side, 1 + reach % 5)
    if kind == 7:
        return Window(reach) | Globals((0, length // 2))
    if kind == 8:
        return Fixed(max(2, side), 1) if generator.random() < 0.5 else Strided(max(2, side))
    edges = torch.Generator().manual_seed(reach)
    return Edges(torch.randint(length, (2, length * generator.choice([2, 4, 16])), generator=edges), "once")


def measured(given: Iterator[Problem]) -> Iterator[Regret]:
    """Measure the backends of problems, one problem after another."""
    for problem in given:
        answers = measure(problem, compare(problem), within=SECONDS, slowest=SLOWEST)
        chosen, *others = answers
        yield Regret(problem, chosen, tuple(offer for offer in others if offer.ratio))


def quantiles(found: Sequence[Regret]) -> dict[str, float]:
    """Give the regrets of `TARGETS`: of half of the problems, of nine in ten, and of all."""
    ordered = sorted(regret.ratio for regret in found)
    shares = zip(TARGETS, (0.5, 0.9, 1.0), strict=True)
    return {name: ordered[ceil(share * len(ordered)) - 1] for name, share in shares}


def rows(found: Sequence[Regret]) -> list[list[str]]:
    """Give the worst problems, with what was chosen and what was best."""
    worst = sorted(found, key=lambda regret: -regret.ratio)[:SHOWN]
    return [[each.description, *map(_timed, (each.chosen, each.best)), f"{each.ratio:.2f}"] for each in worst]


def _timed(offer: Offer) -> str:
    return f"{offer.name} {1000 * offer.measured:.3g} ms"


ESCAPED = r"\|"
"""A bar in a cell of a markdown table."""
COLUMNS = ("problem", "chosen", "best", "regret")


def summary(found: Sequence[Regret]) -> str:
    """Say the quantiles, and whether they are within the targets."""
    told = (f"{name} {value:.2f} (at most {TARGETS[name]:.3g})" for name, value in quantiles(found).items())
    return f"The planner's choice over the best backend, {len(found)} problems: {', '.join(told)}. The worst:"


def table(found: Sequence[Regret]) -> Table:
    """Lay out the worst problems for the terminal, under the quantiles."""
    view = Table(title=summary(found), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in COLUMNS:
        view.add_column(column, justify="right" if column == "regret" else "left", overflow="fold")
    for row in rows(found):
        view.add_row(*row)
    return view


def markdown(found: Sequence[Regret], command: str) -> str:
    """Lay out the same as a section of a document, with the command that makes it."""
    lines = [f"| {' | '.join(cell.replace('|', ESCAPED) for cell in row)} |" for row in rows(found)]
    head = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|--:|"]
    return "\n".join([f"`{command}`", "", summary(found), "", *head, *lines, ""])
