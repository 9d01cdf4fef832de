"""From what the user asked for to a list of runs, checked before anything is trained."""

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

import zoo
from zoo.bench.learning_curve.recipes import RECIPES
from zoo.bench.learning_curve.results import Contestant, Data, Study
from zoo.bench.learning_curve.run import Run, build
from zoo.data.image_source import Source, open_source
from zoo.errors import ConfigError, DataError
from zoo.registry.lookup import registry
from zoo.training.precision import profitable_precision

MODELS = ("resnet-micro", "vit-micro", "hybrid-micro")
SIZES = (300, 1_000, 3_000, 10_000)
MOST_STEPS = 1_200
"""At the largest default size; a third of the size gets 1/sqrt(3) of the steps."""
LEAST_STEPS = 200
SEEDS = 3
QUICK_SIZES, QUICK_SEEDS = (300, 1_000), 2
QUICK_STEPS, QUICK_STEPS_ELSEWHERE = 700, 100
PRECISIONS = ("auto", "32-true", "bf16-mixed", "bf16-true", "16-mixed", "16-true", "64-true")
OPTIMIZERS = ("adamw", "muon")
EPOCHS = 30
SPLIT_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    """Hold what the user asked for; None leaves the choice to us."""

    models: Sequence[str] = MODELS
    data: str = "cards"
    sizes: Sequence[int] | None = None
    seeds: int | None = None
    image_size: int | None = None
    steps: int | None = None
    precision: str = "auto"
    device: str = "auto"
    optimizer: str | None = None
    """None: the recipe's."""
    augment: bool = False


def quick(question: Question) -> Question:
    """Make a question small enough for 90 seconds on two cores; what the user chose stays."""
    default = question.data == "cards"
    seeds = QUICK_SEEDS if question.seeds is None else question.seeds
    steps = question.steps or (QUICK_STEPS if default else QUICK_STEPS_ELSEWHERE)
    return replace(question, sizes=question.sizes or (QUICK_SIZES if default else None), seeds=seeds, steps=steps)


def plan(question: Question, folder: Path, records: Iterable[Mapping[str, Any]] = ()) -> tuple[Study, list[Run]]:
    """Check a question and list its runs, small sizes first; the study has no records yet.

    Args:
        question: what the user asked for.
        folder: of the results.
        records: that the folder holds already; they settle the precision where the user leaves it to us.

    Raises:
        ConfigError: If a number, name or size does not fit.
        DataError: If the data cannot be used, or are fewer than asked for.
    """
    source = open_data(question)
    _check(question, source)
    sizes = sorted(question.sizes or default_sizes(source))
    device = resolve_device(question.device)
    precision = _precision(question, source, device, records)
    _check_hardware(device, precision)
    seeds = SEEDS if question.seeds is None else question.seeds
    study = Study(
        contestants=[_contestant(name, source, question) for name in question.models],
        data=Data(
            name=source.name,
            description=source.description,
            num_classes=source.num_classes,
            reference=source.reference,
            notes=source.notes,
        ),
        steps={size: steps_for(size, question.steps or MOST_STEPS) for size in sizes},
        seeds=seeds,
        records=[],
        folder=folder,
    )
    runs = [
        Run(
            model=contestant.name,
            data=question.data,
            fingerprint=source.fingerprint,
            image_size=source.image_size,
            size=size,
            seed=seed,
            steps=steps,
            batch_size=RECIPES[contestant.kind].batch_size,
            optimizer=contestant.optimizer,
            learning_rate=contestant.learning_rate,
            weight_decay=RECIPES[contestant.kind].weight_decay,
            warmup=RECIPES[contestant.kind].warmup,
            augment=contestant.augment,
            precision=precision,
            device=device,
        )
        for size, steps in study.steps.items()
        for contestant in study.contestants
        for seed in range(seeds)
    ]
    return study, runs


def steps_for(size: int, most: int) -> int:
    """Give the optimiser steps at a size, the same for every contestant: 30 epochs, fewer of many examples."""
    batch = max(recipe.batch_size for recipe in RECIPES.values())
    enough = min(EPOCHS * size // batch, round(most * math.sqrt(size / SIZES[-1])))
    return min(most, max(LEAST_STEPS, enough))


def default_sizes(source: Source) -> list[int]:
    """Choose sizes a factor of about three apart, the last being all there are."""
    if source.limit is None:
        return list(SIZES)
    ladder = [digit * 10**power for power in range(1, 7) for digit in (1, 3)]
    below = [size for size in ladder if 2 * source.num_classes <= size < source.limit / 1.5]
    return [*below[-3:], source.limit]


def open_data(question: Question) -> Source:
    """Open the data at the size asked for."""
    source = open_source(question.data, SPLIT_SEED)
    return source if question.image_size is None else source.resized(question.image_size)


def resolve_device(device: str) -> str:
    """Turn `auto` into what there is."""
    if device != "auto":
        return device
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator.type if accelerator else "cpu"


def _precision(question: Question, source: Source, device: str, records: Iterable[Mapping[str, Any]]) -> str:
    """Give what was asked for, else what the runs on these data have, else what a measurement says.

    A measurement near its threshold falls this way today and that way tomorrow; the study must not start anew for it.
    """
    if question.precision != "auto":
        return question.precision
    same = {
        "data": question.data, "fingerprint": source.fingerprint, "image_size": source.image_size, "device": device
    }  # fmt: skip
    good = [record["config"] for record in records if "error" not in record]
    found = Counter(config["precision"] for config in good if same.items() <= config.items())
    return found.most_common(1)[0][0] if found else profitable_precision()


def _check_hardware(device: str, precision: str) -> None:
    logging.getLogger("lightning_fabric").setLevel(logging.ERROR)  # announces what is asked for
    try:
        Fabric(accelerator=device, devices=1, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # of several kinds, from Lightning and from torch
        raise ConfigError(
            f"--device {device} --precision {precision} cannot be used here: {error}; choose others, or leave both out"
        ) from error


def _contestant(name: str, source: Source, question: Question) -> Contestant:
    """Describe a model, once it is known to fit the data."""
    spec = zoo.info(name)
    _check_fit(name, source)
    recipe = RECIPES[spec.kind]
    return Contestant(
        name=name,
        kind=spec.kind,
        learning_rate=recipe.learning_rate,
        optimizer=question.optimizer or recipe.optimizer,
        augment=question.augment or recipe.augment,
    )


def _check_fit(name: str, source: Source) -> None:
    """Build a model without memory and show it the shape of the pictures."""
    side = source.image_size
    try:
        _try(name, source, side)
    except Exception as error:  # whatever a model says to pictures it cannot read
        fitting = next((other for other in _other_sizes(side) if _fits(name, source, other)), None)
        advice = f"try --image-size {fitting}" if fitting else "choose another size with --image-size"
        raise ConfigError(f"{name!r} cannot read pictures of {side} x {side}: {error}; {advice}") from error


def _try(name: str, source: Source, side: int) -> None:
    try:
        model = build(name, source, device="meta", image_size=side).eval()
        with torch.no_grad():
            model(torch.empty(2, source.channels, side, side, device="meta"))
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):  # a model that needs values: a forward without memory then says nothing
            raise


def _fits(name: str, source: Source, side: int) -> bool:
    try:
        _try(name, source, side)
    except Exception:  # as above
        return False
    return True


def _other_sizes(side: int) -> list[int]:
    """List sizes to propose: the next multiples of usual patches, then the usual sizes of large pictures."""
    return [*sorted({-(-side // patch) * patch for patch in (4, 8, 14, 16, 32)} - {side}), 224, 256, 384]


def _check(question: Question, source: Source) -> None:
    for what, number in (("seeds", question.seeds), ("steps", question.steps), ("image_size", question.image_size)):
        if number is not None and number < 1:
            raise ConfigError(f"{what}={number}: at least 1 is needed")
    for what, choice, known in (
        ("precision", question.precision, PRECISIONS),
        ("optimizer", question.optimizer, (None, *OPTIMIZERS)),
    ):
        if choice not in known:
            raise ConfigError(f"{what}={choice!r} is not one of {', '.join(filter(None, known))}")
    if not question.models:
        raise ConfigError("no models: name at least one, for instance --models resnet-micro,vit-micro")
    for what, values in (("models", question.models), ("sizes", question.sizes or ())):
        if twice := _repeated(values):
            raise ConfigError(f"{what}: {twice[0]} is named twice")
    modality = registry().sources.split(question.data)[0].modality
    for name in question.models:
        if (spec := zoo.info(name)).modality != modality:
            raise ConfigError(f"{name!r} is a {spec.modality} model, the data {question.data!r} are {modality}")
    for size in question.sizes or ():
        _check_size(size, question.data, source)


def _check_size(size: int, data: str, source: Source) -> None:
    if size < source.num_classes:
        raise ConfigError(f"sizes: {size} is less than one example for each of the {source.num_classes} classes")
    if source.limit is not None and size > source.limit:
        raise DataError(
            f"{size:,} training examples asked for, {data!r} has {source.limit:,} besides validation and test: "
            f"ask for at most {source.limit:,} with --sizes"
        )


def _repeated(values: Iterable[object]) -> list[object]:
    seen: set[object] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
