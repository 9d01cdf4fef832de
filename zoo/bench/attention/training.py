"""A training of `zoo bench attention`, and what a step of it costs.

Sequences are fresh in each step; now and then there is a look at the validation, and at the end a test.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import log
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.bench.attention.facts import check_room, recurrent_bytes, state_bytes
from zoo.bench.attention.mechanisms import build, check, parameters
from zoo.bench.attention.own_data import is_own, parts_of, task_of
from zoo.bench.attention.pretraining import masked, next_token, telling_words
from zoo.bench.attention.text_file import TextFile
from zoo.bench.length.costs import typical
from zoo.bench.speed.memory import peak_bytes
from zoo.core import IGNORED
from zoo.data.sequences import Drawn, Induction, SequenceTask
from zoo.errors import ConfigError, InputError
from zoo.training.optimization.optimizers import constant, optimizers_for

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
    """Train the model of a mechanism on a task, and test it; a mechanism that refuses the task gives the reason.

    With `self_pretrain` it first tells tokens of as many sequences, at the same rate.
    """
    task, steps, rate = task_of(config["task"]), config["steps"], config["learning_rate"]
    _, validation, test = parts_of(task)
    torch.manual_seed(config["seed"])
    pretrained, generator = config.get("self_pretrain", False), torch.Generator().manual_seed(config["seed"])
    model = tried(config["mechanism"], task, config["heads"], masks=int(pretrained))
    if isinstance(model, str):
        return {"refused": model}
    if pretrained:
        pretrain(model, task, steps, rate, generator)
    looks: list[tuple[int, float]] = []
    for step, _ in enumerate(learning(model, steps, rate, lambda: task.draw(BATCH, generator))):
        if (step + 1) % LOOK == 0 or step + 1 == steps:
            looks.append((step + 1, accuracy(model, validation, HELD_OUT, VALIDATION_SEED)))
            if looks[-1][1] >= SOLVED:
                break
    tested = {each.length: accuracy(model, each, HELD_OUT, TEST_SEED) for each in (test, *longer(task))}
    found = {"accuracy": tested, "looks": looks, "parameters": parameters(model)}
    if is_own(config["task"]):
        found["shortcuts"] = test.shortcuts()
    if isinstance(test, TextFile):
        found |= {"bits": bits(model, test), "shortcut_bits": test.shortcut_bits()}
    return found


def learning(model: nn.Module, steps: int, rate: float, draw: Callable[[], Drawn]) -> Iterator[None]:
    """Take a step of AdamW each time, on a batch that is drawn for it."""
    (optimizer,) = optimizers_for("adamw", model, rate, 0.01)
    schedule = constant(max(1, round(WARMUP * steps)))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * schedule(step)
        train_step(model, optimizer, draw())
        yield


def pretrain(model: nn.Module, task: SequenceTask, steps: int, rate: float, generator: torch.Generator) -> None:
    """Let a model tell masked tokens if it reads both ways, else the next ones (arXiv:2310.02980)."""
    words, both_ways = len(task.words), reads_ahead(model, task)

    def draw() -> Drawn:
        drawn = task.draw(BATCH, generator)
        return masked(drawn, words, generator) if both_ways else next_token(drawn)

    with telling_words(model, words):
        for _ in learning(model, steps, rate, draw):
            pass


def cost(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a training step of a mechanism on a task: seconds, bytes of its tensors, and of a layer's state."""
    task = task_of(config["task"])
    model = tried(config["mechanism"], task, config["heads"])
    if isinstance(model, str):
        return {"refused": model}
    drawn, optimizer = task.draw(BATCH, torch.Generator().manual_seed(0)), torch.optim.AdamW(model.parameters())
    found = measured(model, optimizer, drawn)
    return found | {"state": state_bytes(config["mechanism"], task.length, config["heads"]) or recurrent_bytes(model)}


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


def tried(mechanism: str, task: SequenceTask, heads: int, masks: int = 0) -> nn.Module | str:
    """Make the model of a mechanism for a task, or give the reason for which it refuses the task.

    Args:
        mechanism: as `build` takes it.
        task: what it is to learn.
        heads: of an attention.
        masks: further tokens that it knows.
    """
    check(mechanism)
    try:
        model = model_for(mechanism, task, heads, masks)
        for test in (task, *longer(task)):
            accuracy(model, test, 1, VALIDATION_SEED)
    except (ConfigError, InputError) as error:
        return str(error)
    if isinstance(task, TextFile) and reads_ahead(model, task):
        return "it reads what comes later, which is what it would have to tell"
    return model


@torch.no_grad()
def reads_ahead(model: nn.Module, task: SequenceTask) -> bool:
    """Tell whether what a model answers at some place changes with the last token."""
    ids = task.draw(4, torch.Generator().manual_seed(VALIDATION_SEED)).ids
    other = ids.clone()
    other[:, -1] = (ids[:, -1] + 1) % len(task.words)
    model.eval()
    one, another = model(ids)[:, :-1], model(other)[:, :-1]
    model.train()
    return not torch.allclose(one, another, rtol=1e-3, atol=1e-4)


def longer(task: SequenceTask) -> list[SequenceTask]:
    """Give the same task at greater lengths, on which a model is tested without being trained there."""
    return [replace(task, length=times * task.length) for times in LONGER] if isinstance(task, Induction) else []


def model_for(mechanism: str, task: SequenceTask, heads: int, masks: int = 0) -> nn.Module:
    """Make the model of a mechanism for a task: it labels each token, and only those that ask count."""
    return build(
        mechanism,
        vocab_size=len(task.words) + masks,
        num_classes=len(task.classes),
        length=max(each.length for each in (task, *longer(task))),
        heads=heads,
        causal=isinstance(task, TextFile),
    )


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
    asked = [(told.argmax(-1) == targets).float() for told, targets in _asked(model, task, count, seed)]
    return float(torch.cat(asked).mean())


@torch.no_grad()
def bits(model: nn.Module, task: SequenceTask) -> float:
    """Give the mean bits that the right classes take in the sequences of the test."""
    found = [cross_entropy(*each, reduction="none") for each in _asked(model, task, HELD_OUT, TEST_SEED)]
    return float(torch.cat(found).mean()) / log(2)


def _asked(model: nn.Module, task: SequenceTask, count: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Give scores and targets of the places that ask, some sequences at a time."""
    drawn = task.draw(count, torch.Generator().manual_seed(seed))
    model.eval()
    for some in zip(*(x.split(64) for x in drawn), strict=True):
        part = Drawn(*some)
        asked = part.targets != IGNORED
        yield answers(model, part)[asked], part.targets[asked]
    model.train()
