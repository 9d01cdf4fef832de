"""All seeds of a point of the data-size study at once: on an accelerator, on which one small model leaves room."""

import gc
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from zoo.bench.grid.task import failure
from zoo.bench.learning_curve.training.run import Run, Training
from zoo.bench.seeds.lock_step import LockStep
from zoo.training.losses.objectives import TeacherForcing
from zoo.training.resume.train_state import Outcome

Result = dict[str, Any]


def execute_seeds(config: Mapping[str, Any]) -> dict[str, list[Result]]:
    """Train `runs`, which differ in their seed alone, and give `results`; half as many at once where memory is short.

    Each has the subset, weights and order of its seed, as if it were trained alone; sums are rounded in another way,
    and dropout draws other numbers. `seconds` are those of all, shared equally.
    """
    return {"results": _together(config["runs"])}


def _together(configs: Sequence[Mapping[str, Any]]) -> list[Result]:
    try:
        return _trained([Training(Run(**config)) for config in configs])
    except torch.OutOfMemoryError:
        if len(configs) == 1:
            raise
    gc.collect()  # what failed is in cycles: frames, models, errors
    torch.cuda.empty_cache()
    half = len(configs) // 2
    return _together(configs[:half]) + _together(configs[half:])


def _trained(trainings: Sequence[Training]) -> list[Result]:
    """Train and test.

    Raises:
        OutOfMemoryError: If a training has not enough memory.
    """
    part = trainings[0].part
    steps = LockStep(len(trainings), lambda answer, target: part.loss(answer, target, 0.0), TeacherForcing(part))
    outcomes = steps.run(lambda place, objective: trainings[place].fit(objective))
    for outcome in outcomes:
        if isinstance(outcome, torch.OutOfMemoryError):
            raise outcome
    return [_result(training, outcome, len(trainings)) for training, outcome in zip(trainings, outcomes, strict=True)]


def _result(training: Training, outcome: Outcome | Exception, together: int) -> Result:
    if isinstance(outcome, Exception):
        return failure(outcome)
    outcome.seconds /= together
    try:
        return {**training.result(outcome), "together": together}
    except Exception as error:  # of this seed: the others are trained
        return failure(error)
