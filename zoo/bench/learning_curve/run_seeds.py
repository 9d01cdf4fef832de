"""All seeds of a point of the data-size study at once: on an accelerator, on which one small model leaves room."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from zoo.bench.grid.task import failure
from zoo.bench.learning_curve.run import Run, Training
from zoo.bench.seeds.lock_step import LockStep
from zoo.training.objectives import TeacherForcing

Result = dict[str, Any]


def execute_seeds(config: Mapping[str, Any]) -> dict[str, list[Result]]:
    """Train `runs`, which differ in their seed alone, and give `results`; half as many at once where memory is short.

    Each has the subset, weights and order of its seed, as if it were trained alone; sums are rounded in another way,
    and dropout draws other numbers. `seconds` are those of all, shared equally.
    """
    return {"results": _together(config["runs"])}


def _together(configs: Sequence[Mapping[str, Any]]) -> list[Result]:
    trainings = [Training(Run(**config)) for config in configs]
    part = trainings[0].part
    steps = LockStep(len(trainings), lambda answer, target: part.loss(answer, target, 0.0), TeacherForcing(part))
    outcomes = steps.run(lambda place, objective: trainings[place].fit(objective))
    if len(configs) > 1 and any(isinstance(outcome, torch.OutOfMemoryError) for outcome in outcomes):
        del trainings, part, steps, outcomes
        half = len(configs) // 2
        return _together(configs[:half]) + _together(configs[half:])
    results: list[Result] = []
    for training, outcome in zip(trainings, outcomes, strict=True):
        if isinstance(outcome, Exception):
            results.append(failure(outcome))
            continue
        outcome.seconds /= len(trainings)
        results.append({**training.result(outcome), "together": len(trainings)})
    return results
