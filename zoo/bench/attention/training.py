"""A training of `zoo bench attention`, and what a step of it costs.

Sequences are fresh in each step; now and then there is a look at the validation, and at the end a test.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.bench.attention.facts import check_room, state_bytes
from zoo.bench.attention.mechanisms import build, check, parameters
from zoo.bench.length.costs import typical
from zoo.bench.speed.memory import peak_bytes
from zoo.core import IGNORED
from zoo.data.sequences import Drawn, Induction, SequenceTask
from zoo.data.sequences.named import task_named
from zoo.errors import ConfigError, InputError
from zoo.training.optimizers import constant, optimizers_for

BATCH = 32
HELD_OUT = 256
"""Sequences of the validation, and of the test."""
LOOK = 25
"""Steps from one look at the validation to the next."""
SOLVED = 0.995
"""Validation accuracy at which a training ends."""
WARMUP = 0.1
"""Share of the steps in which the rate rises; then it is constant, so that a look does not depend on those to come."""
VALIDATION_SEED, TEST_SEED = 1_000_001, 1_000_002
WORDS, CLASSES = 64, 16
"""Of the sequences on which untrained models are measured."""
LONGER = (2, 4, 8)
"""Multiples of the length at which the induction task is tested, too."""


def train(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train the model of a mechanism on a task, and test it; a mechanism that refuses the task gives the reason."""
    task, steps, rate = task_named(config["task"]), config["steps"], config["learning_rate"]
    torch.manual_seed(config["seed"])
    model = tried(config["mechanism"], task, config["heads"])
    if isinstance(model, str):
        return {"refused": model}
    (optimizer,) = optimizers_for("adamw", model, rate, 0.01)
    schedule, generator = constant(max(1, round(WARMUP * steps))), torch.Generator().manual_seed(config["seed"])
    looks: list[tuple[int, float]] = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * schedule(step)
        train_step(model, optimizer, task.draw(BATCH, generator))
        if (step + 1) % LOOK == 0 or step + 1 == steps:
            looks.append((step + 1, accuracy(model, task, HELD_OUT, VALIDATION_SEED)))
            if looks[-1][1] >= SOLVED:
                break
    tested = {test.length: accuracy(model, test, HELD_OUT, TEST_SEED) for test in (task, *longer(task))}
    return {"accuracy": tested, "looks": looks, "parameters": parameters(model)}


def cost(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a training step of a mechanism on a task: seconds, bytes of its tensors, and of a layer's state."""
    task = task_named(config["task"])
    model = tried(config["mechanism"], task, config["heads"])
    if isinstance(model, str):
        return {"refused": model}
    drawn, optimizer = task.draw(BATCH, torch.Generator().manual_seed(0)), torch.optim.AdamW(model.parameters())
    found = measured(model, optimizer, drawn)
    return found | {"state": state_bytes(config["mechanism"], task.length, config["heads"])}


def untrained(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a model that has learned nothing on one sequence: forward, a training step and its memory."""
    mechanism, length, heads = config["mechanism"], config["length"], config["heads"]
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(WORDS, (1, length), generator=generator)
    drawn = Drawn(ids, torch.tensor([length]), ids.roll(1, 1) % CLASSES)
    try:
        check_room(mechanism, length, heads)
        model = build(mechanism, vocab_size=WORDS, num_classes=CLASSES, length=length, heads=heads)
        found = measured(model, torch.optim.AdamW(model.parameters()), drawn)
    except (ConfigError, InputError) as error:
        return {"refused": str(error)}
    with torch.no_grad():
        return {"forward": typical(lambda: model.eval()(ids))} | found


def measured(model: nn.Module, optimizer: torch.optim.Optimizer, drawn: Drawn) -> dict[str, Any]:
    """Give the seconds of a training step, and the most bytes that its tensors take."""
    step = typical(lambda: train_step(model, optimizer, drawn))
    return {"step": step, "bytes": peak_bytes(lambda: train_step(model, optimizer, drawn))}


def tried(mechanism: str, task: SequenceTask, heads: int) -> nn.Module | str:
    """Make the model of a mechanism for a task, or give the reason for which it refuses the task."""
    check(mechanism)
    try:
        model = model_for(mechanism, task, heads)
        for test in (task, *longer(task)):
            accuracy(model, test, 1, VALIDATION_SEED)
    except (ConfigError, InputError) as error:
        return str(error)
    return model


def longer(task: SequenceTask) -> list[SequenceTask]:
    """Give the same task at greater lengths, on which a model is tested without being trained there."""
    return [replace(task, length=times * task.length) for times in LONGER] if isinstance(task, Induction) else []


def model_for(mechanism: str, task: SequenceTask, heads: int) -> nn.Module:
    """Make the model of a mechanism for a task: it labels each token, and only those that ask count."""
    length = max(each.length for each in (task, *longer(task)))
    return build(mechanism, vocab_size=len(task.words), num_classes=len(task.classes), length=length, heads=heads)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, drawn: Drawn) -> None:
    """Learn from a batch."""
    cross_entropy(answers(model, drawn).flatten(0, 1), drawn.targets.flatten(), ignore_index=IGNORED).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def answers(model: nn.Module, drawn: Drawn) -> Tensor:
    """Give the scores of the classes at each place; lengths are told where sequences have several."""
    full = bool((drawn.lengths == drawn.ids.shape[1]).all())
    return model(drawn.ids) if full else model(drawn.ids, drawn.lengths)


@torch.no_grad()
def accuracy(model: nn.Module, task: SequenceTask, count: int, seed: int) -> float:
    """Give the share of the places that ask that are answered rightly, in so many sequences."""
    drawn = task.draw(count, torch.Generator().manual_seed(seed))
    model.eval()
    parts = zip(*(x.split(64) for x in drawn), strict=True)
    told = torch.cat([answers(model, Drawn(*some)).argmax(-1) for some in parts])
    model.train()
    asked = drawn.targets != IGNORED
    return float((told == drawn.targets)[asked].float().mean())
