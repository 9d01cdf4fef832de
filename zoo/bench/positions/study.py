"""`zoo bench positions`: what do position vectors look like once they are trained?"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import typer

from zoo.bench.positions.offset import Offset
from zoo.bench.positions.report import report
from zoo.bench.positions.training import made
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.options import names_in
from zoo.errors import ConfigError

POSITIONS = ("sinusoidal", "learned", "floater", "recurrent", "none")
RATE = 3e-3


def runs(
    positions: Annotated[
        str, typer.Option(help=f"Positions, with commas between: {','.join(POSITIONS)}.", show_default=False)
    ] = "",
    length: Annotated[int, typer.Option(min=4, help="Tokens of a sequence.")] = 32,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Optimizer steps: 600, with --quick 300.", show_default=False)
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each: 3, with --quick 1.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """What do position vectors look like once they are trained, and how far do they reach?

    The panels of arXiv:2003.09229: sinusoidal, learned, FLOATER's dynamics and a recurrent network, each added to the
    tokens of the same encoder, which learns to tell the token three places before each. Accuracy at the length of the
    training and at twice that, beside an encoder without positions.
    """
    asked = names_in(positions) or POSITIONS
    for position in asked:
        if position not in POSITIONS:
            raise ConfigError(f"--positions {position}: those that are added to tokens are {', '.join(POSITIONS)}")
        made(position, Offset(length=length))
    for position, seed in product(asked, range(seeds or (1 if fast else 3))):
        known = {"length": length, "steps": steps or (300 if fast else 600), "learning_rate": RATE}
        yield {"position": position, "seed": seed, **known}


STUDY = GridStudy(
    name="positions", work="zoo.bench.positions.training:train", configs=runs, report=report, unit="training"
)
