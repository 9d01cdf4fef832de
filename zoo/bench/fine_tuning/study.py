"""`zoo bench fine-tuning`: what pretraining is worth, and which way of fine-tuning, by number of examples."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import typer

from zoo.bench.fine_tuning.report import report
from zoo.bench.fine_tuning.training import WAYS, opened
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.options import names_in, numbers_in
from zoo.errors import ConfigError

DATA, MODEL = "cards", "vit-micro"
SIZES = {"digits": {"image_size": 8, "patch_size": 2, "dim": 64, "depth": 4, "num_heads": 4, "mlp_dim": 128}}
"""Keywords of the default model where its own do not fit the data."""


def runs(
    data: Annotated[str, typer.Option(help="Data with at least four classes, as for `zoo train`.")] = DATA,
    model: Annotated[str, typer.Option(help="Model that is pretrained and fine-tuned.")] = MODEL,
    ways: Annotated[str, typer.Option(help=f"Ways, with commas between: {', '.join(WAYS)}.", show_default=False)] = "",
    examples: Annotated[
        str, typer.Option(help="Training examples of each new class: 2,5,20,100, with --quick 20.", show_default=False)
    ] = "",
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of fine-tuning: 200, with --quick 60.", show_default=False)
    ] = None,
    pretraining_steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of pretraining: 2,000, with --quick 800.", show_default=False)
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each: 5, with --quick 2.", show_default=False)
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """What is pretraining worth, and which way of fine-tuning, for few examples?

    A model is pretrained on one half of the classes, then trained on few examples of the other half: from scratch, as a
    linear probe, and by each way of fine-tuning. Accuracy, seconds and trained parameters of each.
    """
    asked = names_in(ways) or tuple(WAYS)
    for way in asked:
        if way not in WAYS:
            raise ConfigError(f"--ways {way}: it is one of {', '.join(WAYS)}")
    sizes: dict[str, Any] = SIZES.get(data, {}) if model == MODEL else {}
    opened(data, model, sizes)
    numbers = numbers_in(examples, "--examples") if examples else (20,) if fast else (2, 5, 20, 100)
    known = {"data": data, "model": model, "sizes": sizes, "steps": steps or (60 if fast else 200)}
    known["pretraining_steps"] = pretraining_steps or (800 if fast else 2000)
    for way, each, seed in product(asked, numbers, range(seeds or (2 if fast else 5))):
        yield {"way": way, "each": each, "seed": seed, **known}


STUDY = GridStudy(
    name="fine-tuning", work="zoo.bench.fine_tuning.training:train", configs=runs, report=report, unit="training"
)
