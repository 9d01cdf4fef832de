"""`zoo bench speed --suite NAME`: each benchmark case of a suite against its peer, in turns, as ratios.

A suite is a package that a plugin names (`zoo_suites`); each of its modules lists its `CASES`.
"""

import gc
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import import_module
from typing import Any

from rich.table import Table

from zoo.bench.grid.engine import Record
from zoo.bench.speed.case import Built, Case, Job
from zoo.bench.speed.memory import peak_bytes, resident_bytes
from zoo.bench.speed.stored import here
from zoo.bench.speed.timing import Spread, in_turns, seconds
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
        quality: what our way changes in the answers; empty if it is not compared.
    """

    case: Case
    threads: int
    ours: float = 0.0
    theirs: float = 0.0
    ratio: Spread | None = None
    missing: str = ""
    quality: str = ""

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
    return list(_named(package, only).values())


def _named(package: str, only: str = "") -> dict[tuple[str, str], Case]:
    """Give the cases of a suite by their module and name, and peer, by which their results are known again."""
    found: dict[tuple[str, str], Case] = {}
    for module in pkgutil.iter_modules(import_module(package).__path__):
        for case in getattr(import_module(f"{package}.{module.name}"), "CASES", ()):
            known = f"{module.name}: {case.name}", case.peer
            if known in found:
                raise ConfigError(f"{package}: two cases are named {known[0]!r} with the peer {case.peer!r}")
            found[known] = case
    picked = {known: case for known, case in found.items() if only.lower() in known[0].lower()}
    if not picked:
        raise ConfigError(f"--only {only!r} is in none of\n  " + "\n  ".join(name for name, _ in found))
    return picked


def configurations(
    package: str, only: str = "", thread_counts: Sequence[int] = (1, 2), rounds: int = 15, device: str = "cpu"
) -> list[dict[str, Any]]:
    """List the measurements of a suite: a case for each number of threads, on which memory does not depend.

    Args:
        package: see `find_cases`.
        only: see `find_cases`.
        thread_counts: how many threads compute.
        rounds: timed runs of each; fewer, but at least six of them, where one takes over a second.
        device: where cases make their tensors.

    Raises:
        ConfigError: If no case is picked.
    """
    same = {"suite": package, "rounds": rounds, "device": device, **here(device, package)}
    return [
        {**same, "case": name, "peer": peer, "threads": count}
        for (name, peer), case in _named(package, only).items()
        for count in (thread_counts[:1] if case.memory else thread_counts)
    ]


def execute(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a case: the work of the grid."""
    case = _named(config["suite"])[config["case"], config["peer"]]
    try:
        row = measure(case, config["threads"], config["rounds"], config["device"])
    finally:
        gc.collect()
    found = {"ours": row.ours, "theirs": row.theirs, "missing": row.missing, "quality": row.quality}
    return found | ({"ratio": astuple(row.ratio)} if row.ratio else {})


def rows_of(records: Sequence[Record]) -> list[Row]:
    """Make the rows of a table of one suite's stored measurements, in the order of its cases."""
    cases = _named(records[0]["config"]["suite"]) if records else {}
    found: dict[tuple[str, str], list[Row]] = {known: [] for known in cases}
    for record in records:
        known = record["config"]["case"], record["config"]["peer"]
        found[known].append(_row_of(cases[known], record))
    return [row for rows in found.values() for row in rows]


def _row_of(case: Case, record: Record) -> Row:
    """Make a row; of a measurement that failed, it says why."""
    count = record["config"]["threads"]
    if "error" in record:
        return Row(case, count, missing=f"{FAILED} {record['error'].strip().splitlines()[0][:200]}")
    ratio = Spread(*record["ratio"]) if "ratio" in record else None
    return Row(case, count, record["ours"], record["theirs"], ratio, record["missing"], record.get("quality", ""))


def measure(case: Case, count: int, rounds: int = 15, device: str = "cpu") -> Row:
    """Build a case and time it on so many threads; a peer that is not there is told in the row."""
    try:
        with create.place(device):
            built: Built = case.build()
    except ImportError as error:
        return Row(case, count, missing=f"does not import: {error}")
    if isinstance(built, str):
        return Row(case, count, missing=built)
    row = _timed(case, built, count, rounds, device)
    if case.quality is None or not callable(built[1]):
        return row
    return replace(row, quality=case.quality(built[0](), built[1]()))


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
    head[0] += f"; {row.quality}" if row.quality else ""
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
