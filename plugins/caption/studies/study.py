"""`zoo bench captions`: where does a captioning model look, with soft, hard and doubly stochastic attention?"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import typer

from zoo import ConfigError
from zoo.bench import GridStudy, names_in
from zoo.plugins.caption.studies.report import report

VARIANTS = ("soft", "hard", "doubly-stochastic", "transformer")
STEPS, QUICK = 1200, 500
HARD = 5 / 3
"""Times as many steps of hard attention, which sees one place at once and leaves its plateau later."""
BATCH = 64


def runs(
    variants: Annotated[
        str, typer.Option(help=f"Attentions, with commas between: {','.join(VARIANTS)}.", show_default=False)
    ] = "",
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Optimizer steps: {STEPS}, with --quick {QUICK}; of hard attention 5/3 of it.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each: 3, with --quick 1.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """Where does a captioning model look, with soft, hard and doubly stochastic attention?

    Show, Attend and Tell (arXiv:1502.03044) on drawn scenes, in which the place of each named thing is known: exact
    match and BLEU of the sentences, also of pairs of colour and number that no training scene shows, and the share of
    attention that lies on the thing while it is named (the pointing score). Beside them the cross-attention of a
    Transformer, the mean of its layers and heads.
    """
    asked = names_in(variants) or VARIANTS
    for variant in asked:
        if variant not in VARIANTS:
            raise ConfigError(f"--variants {variant}: those there are: {', '.join(VARIANTS)}")
    usual = steps or (QUICK if fast else STEPS)
    for seed, variant in product(range(seeds or (1 if fast else 3)), asked):
        needed = round(HARD * usual) if variant == "hard" else usual
        yield {"variant": variant, "seed": seed, "steps": needed, "batch_size": BATCH}


STUDY = GridStudy(
    name="captions", work="zoo.plugins.caption.studies.training:train", configs=runs, report=report, unit="training"
)
