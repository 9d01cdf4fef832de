"""`zoo bench speed --suite NAME`: each benchmark case of a suite against its peer, in turns, as ratios.

A suite is a package that a plugin names (`zoo_suites`); each of its modules lists its `CASES`.
"""

import gc
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from rich.table import Table

from zoo.bench.speed.case import Built, Case, Job
from zoo.bench.speed.memory import peak_bytes, resident_bytes
from zoo.bench.speed.timing import Spread, in_turns, seconds, threads
from zoo.errors import ConfigError
from zoo.factory import create

FEWEST = 6
"""Rounds that an interval of 95 % needs."""
FAILED = "failed:"
"""Begins what a row says of a case that did not run."""
SLOW = 1.0
"""Seconds of a round from which on there are fewer rounds."""


@dataclass(frozen=True)
class Row:
    """Give one measurement, or why there is none.

    Args:
        case: what was measured.
        threads: how many threads computed.
        ours: our seconds, or bytes.
        theirs: the peer's.
        ratio: ours over the peer's, round by round.
        missing: why there are no figures; empty if there are.
    """

    case: Case
    threads: int
    ours: float = 0.0
    theirs: float = 0.0
    ratio: Spread | None = None
    missing: str = ""

    @property
    def reached(self) -> str:
        """Say whether the target is reached, and whether the interval leaves room for the contrary."""
        if self.ratio is None:
            return "-"
        said = "yes" if self.ratio.median <= self.case.target else "no"
        return f"{said}, barely" if self.ratio.low <= self.case.target < self.ratio.high else said


def find_cases(package: str, only: str = "") -> list[Case]:
    """Collect the cases of the modules of a suite.

    Args:
        package: import name, as the suite's record has it.
        only: text that a case's name or its module's contains; all without.

    Raises:
        ConfigError: If no case has it.
    """
    found: list[tuple[str, Case]] = []
    for module in pkgutil.iter_modules(import_module(package).__path__):
        listed: Sequence[Case] = getattr(import_module(f"{package}.{module.name}"), "CASES", ())
        found += [(f"{module.name}: {case.name}", case) for case in listed]
    picked = [case for name, case in found if only.lower() in name.lower()]
    if not picked:
        raise ConfigError(f"--only {only!r} is in none of\n  " + "\n  ".join(name for name, _ in found))
    return picked


def measure(
    chosen: Sequence[Case], thread_counts: Sequence[int] = (1, 2), rounds: int = 15, device: str = "cpu"
) -> Iterator[Row]:
    """Measure cases for each number of threads; memory does not depend on it and is measured once.

    Args:
        chosen: what to measure.
        thread_counts: how many threads compute.
        rounds: timed runs of each; fewer, but at least six of them, where one takes over a second.
        device: where cases make their tensors.
    """
    for case in chosen:
        for count in thread_counts[:1] if case.memory else thread_counts:
            with threads(count):
                yield _measure(case, count, rounds, device)
            gc.collect()


def _measure(case: Case, count: int, rounds: int, device: str) -> Row:
    """Build a case and time it; one that fails says so in its row, and the others are measured all the same."""
    try:
        with create.place(device):
            built: Built = case.build()
        return Row(case, count, missing=built) if isinstance(built, str) else _timed(case, built, count, rounds, device)
    except ImportError as error:
        return Row(case, count, missing=f"does not import: {error}")
    except RuntimeError as error:  # also of a GPU that is full
        said = str(error).strip().partition("\n")[0]
        return Row(case, count, missing=f"{FAILED} {type(error).__name__}: {said[:200]}")


def _timed(case: Case, built: tuple[Job, Job | float], count: int, rounds: int, device: str) -> Row:
    job, other = built
    if isinstance(other, float) and case.memory:
        held = float(resident_bytes(job))
        return Row(case, count, held, other, Spread(*[held / other] * 3))
    if isinstance(other, float):
        times = _alone(_repeated(job, case.repeats), rounds)
        return _row(case, count, times, [other * case.repeats] * len(times))
    if case.memory:
        for made in (job, other):  # what is made at first use, such as caches, is not part of the case
            made()
        held, needed = (float(peak_bytes(made, device)) for made in (job, other))
        share = held / max(needed, 1.0)
        return Row(case, count, held, needed, Spread(share, share, share))
    ours, theirs = (_repeated(made, case.repeats) for made in (job, other))
    return _row(case, count, *in_turns(ours, theirs, _rounds(seconds(ours) + seconds(theirs), rounds)))


def _row(case: Case, count: int, mine: list[float], other: list[float]) -> Row:
    typical, usual = (Spread.of(times).median / case.repeats for times in (mine, other))
    return Row(case, count, typical, usual, Spread.of([a / b for a, b in zip(mine, other, strict=True)]))


def _alone(ours: Job, rounds: int) -> list[float]:
    return [seconds(ours) for _ in range(_rounds(seconds(ours), rounds))]


def _repeated(job: Job, repeats: int) -> Job:
    def run() -> None:
        for _ in range(repeats):
            job()

    return run


def _rounds(taken: float, rounds: int) -> int:
    return rounds if taken <= SLOW else min(rounds, max(FEWEST, round(rounds * SLOW / taken)))


COLUMNS = ("work", "peer", "threads", "ours", "peer's", "ratio (95%)", "at most", "reached")


def cells(row: Row) -> list[str]:
    """Give a row's texts, one for each of `COLUMNS`."""
    head = [row.case.name, row.case.peer, "-" if row.case.memory else str(row.threads)]
    target = f"{row.case.target:.3g}"
    if row.ratio is None:
        return [*head, "-", "-", row.missing, target, row.reached]
    show = _megabytes if row.case.memory else _milliseconds
    exact = f"{row.ratio.median:.3g}"
    ratio = exact if row.case.memory else f"{exact} ({row.ratio.low:.3g}-{row.ratio.high:.3g})"
    return [*head, show(row.ours), show(row.theirs), ratio, target, row.reached]


def _milliseconds(value: float) -> str:
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.3g} MB"


def table(rows: Sequence[Row]) -> Table:
    """Lay out rows for the terminal; the peer stands under the case, the interval under the ratio."""
    view = Table(title="Our time or memory over the peer's", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    view.add_column("work\n  peer", min_width=18, overflow="fold")
    for column in COLUMNS[2:]:
        wraps = column in ("ratio (95%)", "reached")
        view.add_column(
            column.replace(" ", "\n"), justify="left" if column == "reached" else "right", no_wrap=not wraps
        )
    for row in rows:
        work, peer, *figures = cells(row)
        view.add_row(f"{work}\n  {peer}", *(figure.replace(" (", "\n(") for figure in figures))
    return view


def markdown(rows: Sequence[Row], title: str, command: str) -> str:
    """Lay out rows as a section of a document, with the command that makes them."""
    rule = "|".join("---" if column in ("work", "peer", "reached") else "--:" for column in COLUMNS)
    lines = [f"| {' | '.join(cells(row))} |" for row in rows]
    return "\n".join(
        [
            f"## {title}",
            "",
            f"`{command}`",
            "",
            f"| {' | '.join(COLUMNS)} |",
            f"|{rule}|",
            *lines,
            "",
        ]
    )
