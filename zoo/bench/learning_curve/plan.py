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
from zoo.bench.learning_curve.run import Corpora, Run, build
from zoo.data.corpus import Corpus, refuse_task
from zoo.data.subsets import DrawsSubsets, StudyInfo, study_info
from zoo.errors import ConfigError, DataError
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
    _check(question)
    corpora = open_data(question)
    first = corpora[question.models[0]]
    info = study_info(first)
    sizes = sorted(question.sizes or default_sizes(info))
    for size in sizes:
        _check_size(size, question.data, info)
    image_size = first.overrides().get("image_size")
    device = resolve_device(question.device)
    precision = _precision(question, info.fingerprint, image_size, device, records)
    _check_hardware(device, precision)
    seeds = SEEDS if question.seeds is None else question.seeds
    study = Study(
        contestants=[_contestant(name, corpora[name], question) for name in question.models],
        data=Data(
            name=first.name,
            description=first.description,
            num_classes=info.num_classes,
            reference=info.reference,
            notes=info.notes,
            metric=first.metric,
            best=info.best,
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
            fingerprint=study_info(corpora[contestant.name]).fingerprint,
            image_size=image_size,
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


def default_sizes(info: StudyInfo) -> list[int]:
    """Choose sizes a factor of about three apart, the last being all there are."""
    if info.limit is None:
        return list(SIZES)
    ladder = [digit * 10**power for power in range(1, 7) for digit in (1, 3)]
    below = [size for size in ladder if 2 * info.num_classes <= size < info.limit / 1.5]
    return [*below[-3:], info.limit]


def open_data(question: Question) -> dict[str, Corpus]:
    """Open the data as each model reads them.

    Raises:
        ConfigError: If a model cannot do what the data ask for, or a size is asked of data that are no images.
    """
    corpora = Corpora(question.data, question.image_size)
    opened = {name: corpora.of(name) for name in question.models}
    for name, corpus in opened.items():
        refuse_task(corpus, zoo.info(name))
        if question.image_size is not None and "image_size" not in corpus.overrides():
            raise ConfigError(f"image_size={question.image_size}: the data {question.data!r} are no images")
    return opened


def resolve_device(device: str) -> str:
    """Turn `auto` into what there is."""
    if device != "auto":
        return device
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator.type if accelerator else "cpu"


def _precision(
    question: Question, fingerprint: str, image_size: int | None, device: str, records: Iterable[Mapping[str, Any]]
) -> str:
    """Give what was asked for, else what the runs on these data have, else what a measurement says.

    A measurement near its threshold falls this way today and that way tomorrow; the study must not start anew for it.
    """
    if question.precision != "auto":
        return question.precision
    same = {"data": question.data, "fingerprint": fingerprint, "image_size": image_size, "device": device}
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


def _contestant(name: str, corpus: Corpus, question: Question) -> Contestant:
    """Describe a model, once it is known to fit the data."""
    spec = zoo.info(name)
    if "image_size" in corpus.overrides():
        _check_fit(name, corpus)
    recipe = RECIPES[spec.kind]
    return Contestant(
        name=name,
        kind=spec.kind,
        learning_rate=recipe.learning_rate,
        optimizer=question.optimizer or recipe.optimizer,
        augment=question.augment or recipe.augment or not isinstance(corpus, DrawsSubsets),
    )


def _check_fit(name: str, corpus: Corpus) -> None:
    """Build a model without memory and show it the shape of the pictures."""
    side = corpus.overrides()["image_size"]
    try:
        _try(name, corpus, side)
    except Exception as error:  # whatever a model says to pictures it cannot read
        fitting = next((other for other in _other_sizes(side) if _fits(name, corpus, other)), None)
        advice = f"try --image-size {fitting}" if fitting else "choose another size with --image-size"
        raise ConfigError(f"{name!r} cannot read pictures of {side} x {side}: {error}; {advice}") from error


def _try(name: str, corpus: Corpus, side: int) -> None:
    try:
        model = build(name, corpus, device="meta", image_size=side).eval()
        with torch.no_grad():
            model(torch.empty(2, corpus.overrides()["in_chans"], side, side, device="meta"))
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):  # a model that needs values: a forward without memory then says nothing
            raise


def _fits(name: str, corpus: Corpus, side: int) -> bool:
    try:
        _try(name, corpus, side)
    except Exception:  # as above
        return False
    return True


def _other_sizes(side: int) -> list[int]:
    """List sizes to propose: the next multiples of usual patches, then the usual sizes of large pictures."""
    return [*sorted({-(-side // patch) * patch for patch in (4, 8, 14, 16, 32)} - {side}), 224, 256, 384]


def _check(question: Question) -> None:
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


def _check_size(size: int, data: str, info: StudyInfo) -> None:
    if size < max(1, info.num_classes):
        raise ConfigError(f"sizes: {size} is less than one example for each of the {info.num_classes} classes")
    if info.limit is not None and size > info.limit:
        raise DataError(
            f"{size:,} training examples asked for, {data!r} has {info.limit:,} besides validation and test: "
            f"ask for at most {info.limit:,} with --sizes"
        )


def _repeated(values: Iterable[object]) -> list[object]:
    seen: set[object] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
