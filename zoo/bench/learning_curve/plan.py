"""The runs of a learning-curve study, planned from what the user asked for."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from zoo.bench.learning_curve.config import (
    StudyConfig,
    check_config,
    check_fit,
    check_hardware,
    check_size,
    check_start,
)
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.contestants.recipes import BY_KIND, RECIPE, recipe_for
from zoo.bench.learning_curve.lineup import quick_sizes
from zoo.bench.learning_curve.results.entries import Data, ModelEntry
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.run import Corpora, Run
from zoo.data.corpus import Corpus, check_task
from zoo.data.labelling.labelling import names_of_classes
from zoo.data.subsets import DrawsSubsets, StudyInfo, chance_accuracy, study_info
from zoo.errors import ConfigError
from zoo.training.optimization.precision import profitable_precision

SIZES = (300, 1_000, 3_000, 10_000)
MOST_STEPS = 1_200
"""At the largest default size; a third of the size gets 1/sqrt(3) of the steps."""
LEAST_STEPS = 200
SEEDS = 3
QUICK_SEEDS, QUICK_STEPS = 2, 100
EPOCHS = 30


def quick(config: StudyConfig) -> StudyConfig:
    """Make a study small enough for 90 seconds on two cores; what the user chose stays."""
    config = quick_sizes(config)
    seeds = QUICK_SEEDS if config.seeds is None else config.seeds
    return replace(config, seeds=seeds, steps=config.steps or QUICK_STEPS)


def plan(config: StudyConfig, folder: Path, records: Iterable[Mapping[str, Any]] = ()) -> tuple[Study, list[Run]]:
    """Check what the user asked for and list the runs, small sizes first; the study has no records yet.

    Args:
        config: what the user asked for.
        folder: of the results.
        records: that the folder holds already; they settle the precision where the user leaves it to us.

    Raises:
        ConfigError: If a number, name or size does not fit, or the records are of the study as it was before.
        DataError: If the data cannot be used, or are fewer than asked for.
    """
    check_config(config)
    records = list(records)
    _check_begun(config, folder, records)
    corpora = open_data(config)
    first = corpora[config.models[0]]
    labelling = config.labelling
    for corpus in corpora.values():
        labelling.check(corpus, config.data)
    info = labelling.info(first)
    sizes = sorted(config.sizes or default_sizes(info, labelling.least(info)))
    for size in sizes:
        labelling.check_size(size, first, config.data)
        check_size(size, config.data, info)
    study = Study(
        models=[_entry(name, corpora[name], config) for name in config.models],
        data=Data(
            name=", ".join(filter(None, (first.name, labelling.text))),
            description=" ".join(filter(None, (labelling.explained, first.description))),
            classes=names_of_classes(first) if first.metric == "accuracy" else (),
            num_classes=info.num_classes,
            reference=info.reference,
            notes=info.notes,
            metric=first.metric,
            best=info.best,
            chance=chance_accuracy(first, info.batch_size or 32),
        ),
        steps={size: steps_for(size, config.steps or MOST_STEPS) for size in sizes},
        seeds=SEEDS if config.seeds is None else config.seeds,
        records=[],
        folder=folder,
        most_steps=config.steps or MOST_STEPS,
    )
    return study, _runs(study, config, corpora, records)


def _runs(
    study: Study, config: StudyConfig, corpora: Mapping[str, Corpus], records: Iterable[Mapping[str, Any]]
) -> list[Run]:
    """List the runs of a study, small sizes first."""
    fingerprints = {name: study_info(corpus).fingerprint for name, corpus in corpora.items()}
    weights = {name: Contestant.of(name).fingerprint() for name in corpora}
    image_sizes = {name: corpus.overrides().get("image_size") for name, corpus in corpora.items()}
    same: dict[str, Any] = {"data": config.data, "device": resolve_device(config.device)}
    first = config.models[0]
    known = _on_data(same | {"image_size": image_sizes[first], "fingerprint": fingerprints[first]}, records)
    precision = _precision(config, known)
    check_hardware(same["device"], precision)
    return [
        Run(
            model=entry.name,
            fingerprint=fingerprints[entry.name],
            image_size=image_sizes[entry.name],
            weights=weights[entry.name],
            size=size,
            seed=seed,
            steps=steps,
            batch_size=entry.recipe.batch_size,
            optimizer=entry.optimizer,
            learning_rate=entry.learning_rate,
            weight_decay=entry.recipe.weight_decay,
            warmup=entry.recipe.warmup,
            augment=entry.augment,
            precision=precision,
            ties="smooth" if all("ties" in run for run in known) else "first",
            class_ratio=str(config.labelling.ratio or ""),
            label_noise=config.labelling.noise,
            **same,
        )
        for size, steps in study.steps.items()
        for entry in study.models
        for seed in range(study.seeds)
    ]


def steps_for(size: int, most: int) -> int:
    """Give the optimiser steps at a size, the same for every model: 30 epochs, fewer of many examples."""
    enough = min(EPOCHS * size // RECIPE.batch_size, round(most * math.sqrt(size / SIZES[-1])))
    return min(most, max(LEAST_STEPS, enough))


def default_sizes(info: StudyInfo, least: int = 0) -> list[int]:
    """Choose sizes a factor of about three apart, the last being all there are.

    Args:
        info: of the data.
        least: training examples that a study needs.
    """
    least = max(least, 2 * info.num_classes)
    if info.limit is None:
        return [size for size in SIZES if size >= least] or [least]
    ladder = [digit * 10**power for power in range(1, 7) for digit in (1, 3)]
    below = [size for size in ladder if least <= size < info.limit / 1.5]
    return [*below[-3:], info.limit]


def open_data(config: StudyConfig) -> dict[str, Corpus]:
    """Open the data as each model reads them.

    Raises:
        ConfigError: If a model cannot do what the data ask for, or a size is asked of data that are no images.
    """
    corpora = Corpora(config.data, config.image_size)
    opened = {name: corpora.of(name) for name in config.models}
    for name, corpus in opened.items():
        check_task(corpus, Contestant.of(name).spec)
        if config.image_size is not None and "image_size" not in corpus.overrides():
            raise ConfigError(f"image_size={config.image_size}: the data {config.data!r} are no images")
        if config.augment and not isinstance(corpus, DrawsSubsets):
            raise ConfigError(f"augment=True: the data {config.data!r} leave no choice of augmentation")
    return opened


def resolve_device(device: str) -> str:
    """Resolve `auto` to the device that this machine has."""
    if device != "auto":
        return device
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator.type if accelerator else "cpu"


def _check_begun(config: StudyConfig, folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Refuse to go on, with another recipe, with a study of the time when each kind of model had its own."""
    on_data = [record["config"] for record in records if record["config"].get("data") == config.data]
    found = {run.get("optimizer") for run in on_data}
    if config.optimizer is None and "muon" in found and RECIPE.optimizer not in found:
        raise ConfigError(
            f"{folder} holds {len(on_data)} runs on {config.data!r} of a study in which each kind of model had an "
            f"optimizer of its own; all have {RECIPE.optimizer} now. Choose another folder with --out, or train as "
            f"before with --optimizer {BY_KIND}"
        )


def _on_data(same: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """List the configurations of the finished runs on the same data; a study that is resumed goes on as they did."""
    good = [record["config"] for record in records if "error" not in record]
    return [run for run in good if same.items() <= run.items()]


def _precision(config: StudyConfig, known: Sequence[Mapping[str, Any]]) -> str:
    """Give what was asked for, else what the runs on these data have, else what a measurement says.

    A measurement near its threshold falls this way today and that way tomorrow; the study must not start anew for it.
    """
    if config.precision != "auto":
        return config.precision
    found = Counter(run["precision"] for run in known)
    return found.most_common(1)[0][0] if found else profitable_precision()


def _entry(name: str, corpus: Corpus, config: StudyConfig) -> ModelEntry:
    """Describe a model, once it is known to fit the data."""
    contestant = Contestant.of(name)
    if "image_size" in corpus.overrides():
        check_fit(name, corpus)
    check_start(contestant, corpus)
    recipe = recipe_for(contestant.spec, config.optimizer, contestant.start)
    return ModelEntry(
        name=name,
        kind=contestant.spec.kind,
        weights=contestant.reference,
        learning_rate=recipe.learning_rate,
        optimizer=recipe.optimizer,
        augment=config.augment or recipe.augment if isinstance(corpus, DrawsSubsets) else None,
        recipe=recipe,
    )
