"""`zoo bench approximation`: how near do efficient attentions come to softmax?"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import typer

from zoo.bench.approximation.errors import MECHANISMS, check
from zoo.bench.approximation.report import report
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.options import names_in, numbers_in
from zoo.errors import ConfigError

SIZES, QUICK_SIZES = "16,32,64,128,256,512,1024", "32,128,512"
SCALES, QUICK_SCALES = "0.25,0.5,1,2,4", "0.25,1,4"


def runs(
    mechanisms: Annotated[
        str, typer.Option(help=f"Which, with commas between: {','.join(MECHANISMS)}.", show_default=False)
    ] = "",
    sizes: Annotated[
        str,
        typer.Option(
            help=f"Features, landmarks, ranks or keys read: {SIZES}, with --quick {QUICK_SIZES}.", show_default=False
        ),
    ] = "",
    scales: Annotated[
        str,
        typer.Option(
            help=f"Standard deviations of the scores: {SCALES}, with --quick {QUICK_SCALES}.", show_default=False
        ),
    ] = "",
    length: Annotated[int, typer.Option(min=2, help="Tokens of a sequence.")] = 512,
    head_dim: Annotated[int, typer.Option(min=1, help="Channels of the head.")] = 16,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Drawn inputs: 5, with --quick 2.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """How near do efficient attentions come to softmax, and what decides it?

    The error of the weights and of the answers on drawn queries, keys and values, over the features, landmarks, rank or
    keys that a mechanism is given, and over how far scores spread. Nothing is trained.
    """
    asked = names_in(mechanisms) or tuple(MECHANISMS)
    for mechanism in asked:
        check(mechanism)
    counts = sorted(set(numbers_in(sizes or (QUICK_SIZES if fast else SIZES), "--sizes")))
    spreads = scales_in(scales or (QUICK_SCALES if fast else SCALES))
    for mechanism, scale, seed in product(asked, spreads, range(seeds or (2 if fast else 5))):
        yield {
            "mechanism": mechanism,
            "scale": scale,
            "seed": seed,
            "length": length,
            "head_dim": head_dim,
            "sizes": counts,
        }


def scales_in(text: str) -> list[float]:
    """Read standard deviations with commas between, in rising order.

    Raises:
        ConfigError: If a part is no number above 0.
    """
    try:
        found = sorted({float(part) for part in names_in(text)})
    except ValueError as error:
        raise ConfigError(f"--scales {text}: write numbers with commas between, such as {SCALES}") from error
    if not found or not all(0 < scale < float("inf") for scale in found):
        raise ConfigError(f"--scales {text}: a standard deviation is a number above 0, such as {SCALES}")
    return found


STUDY = GridStudy(
    name="approximation", work="zoo.bench.approximation.errors:errors", configs=runs, report=report, unit="input"
)
