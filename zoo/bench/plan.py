"""From what the user asked for to a list of runs, checked before anything is trained."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

import zoo
from zoo.bench.recipes import RECIPES
from zoo.bench.run import Run, build
from zoo.bench.source import Source, open_source
from zoo.bench.study import Contestant, Data, Study
from zoo.errors import ConfigError, DataError
from zoo.registry import registry
from zoo.train import profitable_precision

MODELS = ("resnet-micro", "vit-micro", "hybrid-micro")
SIZES = (300, 1_000, 3_000, 10_000)
MOST_STEPS = 1_200
"""At the largest default size; a third of the size gets 1/sqrt(3) of the steps."""
LEAST_STEPS = 200
QUICK_SIZES, QUICK_STEPS = (100, 300, 1_000), 100
EPOCHS = 30
SPLIT_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    """Hold what the user asked for; None leaves the choice to us."""

    models: Sequence[str] = MODELS
    data: str = "cards"
    sizes: Sequence[int] | None = None
    seeds: int = 3
    image_size: int | None = None
    steps: int | None = None
    precision: str = "auto"
    device: str = "auto"


def quick(question: Question) -> Question:
    """Make a question small enough for 90 seconds on two cores; what the user chose stays."""
    few = question.sizes or (QUICK_SIZES if question.data == "cards" else None)
    return replace(question, sizes=few, seeds=min(question.seeds, 2), steps=question.steps or QUICK_STEPS)


def plan(question: Question, folder: Path) -> tuple[Study, list[Run]]:
    """Check a question and list its runs, small sizes first; the study has no records yet.

    Raises:
        ConfigError: If a number, name or size does not fit.
        DataError: If the data cannot be used, or are fewer than asked for.
    """
    source = open_data(question)
    _check(question, source)
    sizes = sorted(question.sizes or default_sizes(source))
    device = resolve_device(question.device)
    precision = profitable_precision() if question.precision == "auto" else question.precision
    study = Study(
        contestants=[_contestant(name, source) for name in question.models],
        data=Data(
            name=source.name,
            description=source.description,
            num_classes=source.num_classes,
            reference=source.reference,
            notes=source.notes,
        ),
        steps={size: steps_for(size, question.steps or MOST_STEPS) for size in sizes},
        seeds=question.seeds,
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
            optimizer=RECIPES[contestant.kind].optimizer,
            learning_rate=contestant.learning_rate,
            weight_decay=RECIPES[contestant.kind].weight_decay,
            warmup=RECIPES[contestant.kind].warmup,
            augment=RECIPES[contestant.kind].augment,
            precision=precision,
            device=device,
        )
        for size, steps in study.steps.items()
        for contestant in study.contestants
        for seed in range(question.seeds)
    ]
    return study, runs


def steps_for(size: int, most: int) -> int:
    """Give the optimiser steps at a size, the same for every contestant: 30 epochs, fewer of many examples."""
    batch = max(recipe.batch_size for recipe in RECIPES.values())
    enough = min(EPOCHS * size // batch, round(MOST_STEPS * math.sqrt(size / SIZES[-1])))
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


def _contestant(name: str, source: Source) -> Contestant:
    """Describe a model, once it is known to fit the data: it is built without memory."""
    spec = zoo.info(name)
    build(name, source, device="meta")
    return Contestant(name=name, kind=spec.kind, learning_rate=RECIPES[spec.kind].learning_rate)


def _check(question: Question, source: Source) -> None:
    for what, number in (("seeds", question.seeds), ("steps", question.steps), ("image_size", question.image_size)):
        if number is not None and number < 1:
            raise ConfigError(f"{what}={number}: at least 1 is needed")
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
