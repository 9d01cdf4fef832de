"""`zoo bench window-error`: what attention to a window leaves out, of vectors that drift along the sequence."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Annotated, Any

import torch
import typer

from zoo.bench import GridStudy, Report, ReportTable, numbers_in
from zoo.core import Full, Window, attend


def difference(config: Mapping[str, Any]) -> dict[str, Any]:
    """Do one run: from a configuration, which says all that decides the result, to what was found."""
    generator = torch.Generator().manual_seed(config["seed"])
    steps = torch.randn(3, 1, config["length"], 4, 16, generator=generator)
    q, k, v = steps.cumsum(2) / config["length"] ** 0.5  # random walks: what is near is alike
    full, local = (attend(4 * q, 4 * k, v, pattern) for pattern in (Full(), Window(config["width"])))
    return {"difference": float((local - full).norm() / full.norm())}


def runs(
    widths: Annotated[str, typer.Option(help="Tokens that are read on each side, separated by commas.")] = "4,16,64",
    length: Annotated[int, typer.Option(min=1, help="Tokens of a sequence.")] = 256,
    seeds: Annotated[int, typer.Option(min=1, help="Sequences of each width.")] = 5,
) -> Iterator[dict[str, Any]]:
    """How wide must the window of local attention be?"""
    for width in numbers_in(widths, "--widths"):
        yield from ({"width": width, "length": length, "seed": seed} for seed in range(seeds))


def report(records: Sequence[Mapping[str, Any]]) -> Report:
    """Give the mean difference of each width, of the runs that are finished."""
    found: dict[int, list[float]] = defaultdict(list)
    for record in records:
        found[record["config"]["width"]].append(record["difference"])
    rows = [[width, len(each), mean(each), max(each)] for width, each in found.items()]
    columns = ["width", "sequences", "mean", "largest"]
    table = ReportTable(name="difference", title="Relative difference from full attention", columns=columns, rows=rows)
    return Report(lines=[f"A window of {rows[-1][0]} on each side leaves out {rows[-1][2]:.0%}."], tables=[table])


STUDY = GridStudy(name="window-error", work="zoo_study.window_error:difference", configs=runs, report=report)
