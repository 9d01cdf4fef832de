"""`zoo bench parallel-decoding`: what does writing all tokens at once cost in quality, and win in time?"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import typer

from zoo import ConfigError
from zoo.bench import GridStudy, names_in
from zoo.plugins.text.studies.report import report

VARIANTS = ("autoregressive", "non-autoregressive", "distilled")
DATA = ("numbers:en", "dates")
STEPS, QUICK = 1500, 600
BATCH = 64


def runs(
    variants: Annotated[
        str, typer.Option(help=f"Models, with commas between: {','.join(VARIANTS)}.", show_default=False)
    ] = "",
    data: Annotated[str, typer.Option(help=f"Tasks, with commas between: {','.join(DATA)}.", show_default=False)] = "",
    steps: Annotated[
        int | None, typer.Option(min=1, help=f"Optimizer steps: {STEPS}, with --quick {QUICK}.", show_default=False)
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each: 3, with --quick 1.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """What does writing all tokens at once cost in quality, and win in time?

    A Transformer (arXiv:1706.03762) against a non-autoregressive one of the same sizes, which predicts the length of
    the answer and writes all its places at once (arXiv:1711.02281): on numbers in words, which have one right answer,
    and on dates in words, which have three. The second is also trained on what the first writes of the training inputs
    (distillation, arXiv:1606.07947). Quality is exact match and BLEU on the test, time that of the processor.
    """
    tasks, asked = names_in(data) or DATA, names_in(variants) or VARIANTS
    for given, known, option in ((asked, VARIANTS, "variants"), (tasks, DATA, "data")):
        if unknown := [name for name in given if name not in known]:
            raise ConfigError(f"--{option} {unknown[0]}: those there are: {', '.join(known)}")
    budget = {"steps": steps or (QUICK if fast else STEPS), "batch_size": BATCH}
    for seed, task, variant in product(range(seeds or (1 if fast else 3)), tasks, asked):
        yield {"data": task, "variant": variant, "seed": seed, **budget}


STUDY = GridStudy(
    name="parallel-decoding",
    work="zoo.plugins.text.studies.training:train",
    configs=runs,
    report=report,
    unit="training",
)
