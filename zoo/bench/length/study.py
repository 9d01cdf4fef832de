"""`zoo bench length`: self-attention, an RNN, a convolution or a linear recurrence?"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any

import typer

from zoo.bench.length import costs, recall
from zoo.bench.length.families import FAMILIES
from zoo.bench.length.report import report
from zoo.bench.speed.stored import here
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.options import numbers_in

PARTS = {"recall": recall.train, "model": costs.model, "layer": costs.layer}


def execute(config: dict[str, Any]) -> dict[str, Any]:
    """Do a run of any part: the work of the grid."""
    return PARTS[config["part"]](config)


def measures_time(config: Mapping[str, Any]) -> bool:
    """Tell whether a run measures time."""
    return config["part"] != "recall"


def runs(
    distances: Annotated[
        str, typer.Option(help="Tokens from the cue to the question: 8,32,64, with --quick 8,32.", show_default=False)
    ] = "",
    lengths: Annotated[
        str, typer.Option(help="Lengths for time and memory: 256,1024,4096, with --quick 256,1024.", show_default=False)
    ] = "",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each rate: 3, with --quick 1.", show_default=False)
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Optimizer steps at most: 300, with --quick 200.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """Over what distance does a model remember, and what does length cost?

    Self-attention, full, to a window and linear, linear recurrences, LSTM, GRU and dilated convolutions, of about the
    same number of parameters: accuracy over the distance that must be remembered, time and memory over length, whole
    sequences against token by token, and the exponents of the complexity table of arXiv:1706.03762.
    """
    far = numbers_in(distances or ("8,32" if fast else "8,32,64"), "--distances")
    long = numbers_in(lengths or ("256,1024" if fast else "256,1024,4096"), "--lengths")
    most = steps or (200 if fast else 300)
    for distance, seed, rate in product(far, range(seeds or (1 if fast else 3)), recall.RATES):
        same = {"distance": distance, "steps": most, "learning_rate": rate, "seed": seed}
        yield from ({"part": "recall", "family": family, **same} for family in FAMILIES)
    for family in FAMILIES:
        yield from ({"part": "model", "family": family, "length": length, **here()} for length in long)
        yield from ({"part": "layer", "family": family, "length": n, "dim": d, **here()} for n, d in shapes())


def shapes() -> list[tuple[int, int]]:
    """List the lengths and channels of layers: all of each, with a fixed one of the other."""
    n, d = costs.LAYER_LENGTHS, costs.LAYER_DIMS
    return list(dict.fromkeys([*((length, d[1]) for length in n), *((n[1], dim) for dim in d)]))


STUDY = GridStudy(
    name="length",
    work="zoo.bench.length.study:execute",
    configs=runs,
    report=report,
    alone=measures_time,
)
