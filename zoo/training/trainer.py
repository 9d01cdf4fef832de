"""What `zoo.train` does: the parts of one training put together, run, judged and saved."""

import logging
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from zoo.data.corpus import Corpus, open_corpus, refuse_task
from zoo.errors import ConfigError
from zoo.factory import create as build
from zoo.spec import ModelSpec
from zoo.training import checkpoint
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.callbacks.loss_curve import Curve
from zoo.training.callbacks.progress import Show
from zoo.training.callbacks.run_folder import CURVE, STATE, Keeper, clear, read_record, refuse_other
from zoo.training.callbacks.signals import Stop
from zoo.training.checkpoint import Snapshot
from zoo.training.config import Settings, resolved
from zoo.training.distributed.devices import Place
from zoo.training.loop import Objective, Plan, fit
from zoo.training.objectives import Corrupted, GuidedAttention, ScheduledSampling, Taught, rising
from zoo.training.optimizers import optimizers_for
from zoo.training.precision import resolve_precision
from zoo.training.sampler import Order
from zoo.training.train_state import Outcome
from zoo.weights import hub

_LOGGER = "lightning_fabric"


@dataclass(frozen=True)
class Trained:
    """Give what a training made."""

    model: nn.Module
    """In evaluation, at its best checkpoint."""
    folder: Path | None
    scores: dict[str, float]
    """On the test examples; empty where the training was stopped before its end."""
    outcome: Outcome
    settings: Settings
    """With everything that was chosen."""
    first: bool = True
    """Whether this is the first of several processes, which speaks for all."""


@dataclass(frozen=True)
class Begin:
    """Say what model a training begins with."""

    name: str
    weights: Any
    pretrained: bool
    overrides: dict[str, Any]

    @property
    def tuned(self) -> bool:
        """Whether its weights were trained before."""
        return self.pretrained or self.weights is not None

    @property
    def spec(self) -> ModelSpec:
        """Describe the model with what was overridden."""
        spec = build.info(self.name).with_config(**self.overrides)
        return replace(spec, task=self.overrides.get("task", spec.task))

    @property
    def tokenizer(self) -> str:
        """Find the vocabulary that belongs to the weights; empty if they bring none."""
        if isinstance(self.weights, str | Path):
            text = str(self.weights)
            where = text if hub.is_repository(text) else f"local-dir:{text}" if Path(text).is_dir() else ""
        else:
            published = self.spec.weights
            tag = self.name.partition(".")[2]
            where = (published.get(tag) or next(iter(published.values()), "")) if self.pretrained else ""
        found = hub.fetch(where, ("tokenizer.json",)) if where else None
        return str(found) if found else ""

    def make(self, fitting: dict[str, Any]) -> nn.Module:
        """Make the model; CNNs hold their images channels-last, twice as fast on CPUs."""
        known = build.info(self.name).config
        changed = {key: value for key, value in fitting.items() if known.get(key) != value} | self.overrides
        model = build.create(self.name, self.pretrained, weights=self.weights, **changed)
        convolves = any(isinstance(module, nn.Conv2d) for module in model.modules())
        return model.to(memory_format=torch.channels_last) if convolves else model


class Run:
    """Put the parts of one training together.

    Args:
        begin: the model.
        data: a text for `open_corpus`, or a corpus.
        folder: where everything is kept; None for nowhere.
        given: settings, not resolved.
        place: where it runs.
        resume: whether it goes on with what the folder holds.
        overwrite: whether the training in the folder is removed, once model and data are there.
        progress: whether it is shown.
        command: that repeats it.
    """

    def __init__(
        self,
        begin: Begin,
        data: str | Corpus,
        folder: Path | None,
        given: Settings,
        place: Place,
        resume: bool,
        overwrite: bool,
        progress: bool,
        command: str,
    ) -> None:
        self.begin, self.data, self.folder, self.given, self.place = begin, data, folder, given, place
        self.resume, self.overwrite, self.progress, self.command = resume, overwrite, progress, command
        logging.getLogger(_LOGGER).setLevel(logging.ERROR)  # announces precision and processes
        self.precision = resolve_precision(self._precision(), place.kind)
        self.fabric: Fabric = place.fabric(self.precision)

    def go(self) -> Trained:
        """Train, and judge the best checkpoint on the test examples."""
        torch.set_flush_denormal(True)  # dying activations cost ten times as much otherwise
        seed = self.given.seed
        corpus = self._corpus()
        _seed(seed)
        refuse_task(corpus, self.begin.spec)
        model = self.begin.make(corpus.overrides())
        order = Order(corpus, self.given.batch_size, seed, self.fabric.global_rank, self.fabric.world_size)
        per_step = self.given.accumulate * self.fabric.world_size
        settings = resolved(
            self.given, self.begin.spec, corpus, model, order.per_epoch / per_step,
            tuned=self.begin.tuned, precision=self.precision,
        )  # fmt: skip
        facts = self._facts(corpus, settings)
        objective = _objective(corpus, model, settings)
        if self.overwrite and self.folder is not None and self.fabric.is_global_zero:
            clear(self.folder)
        start = self._start(facts)
        _seed(seed, 1 + self.fabric.global_rank)
        outcome, scores = self._fit(model, corpus, order, objective, settings, facts, start)
        return Trained(model.eval(), self.folder, scores, outcome, settings, self.fabric.is_global_zero)

    def _corpus(self) -> Corpus:
        """Open the data; a vocabulary is learned once, since learning it again may break ties another way."""
        if not isinstance(self.data, str):
            return self.data
        saved = self.folder / "tokenizer.json" if self.resume and self.folder is not None else None
        tokenizer = str(saved) if saved and saved.exists() else self.given.tokenizer or self.begin.tokenizer
        if self.fabric.world_size == 1:
            return self._open(self.data, tokenizer)
        corpus, told = None, ("", "")
        if self.fabric.is_global_zero:
            try:
                corpus = self._open(self.data, tokenizer)
                told = ("", _vocabulary(corpus))
            except Exception as error:
                self.fabric.broadcast((f"{type(error).__name__}: {error}", ""))  # the others wait for it
                raise
        failed, text = self.fabric.broadcast(told)
        if failed:
            raise ConfigError(f"data {self.data!r}, in the first process: {failed}")
        if corpus is not None:
            return corpus
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "tokenizer.json"
            path.write_text(text, encoding="utf-8")
            return self._open(self.data, str(path) if text else tokenizer)

    def _open(self, data: str, tokenizer: str) -> Corpus:
        return open_corpus(data, self.begin.spec, self.given.seed, tokenizer)

    def _precision(self) -> str:
        """Find what is asked: `auto` was measured when the training began, and another time might give another."""
        if self.given.precision != "auto" or not self.resume or self.folder is None:
            return self.given.precision
        return str(read_record(self.folder).get("settings", {}).get("precision", "auto"))

    def _facts(self, corpus: Corpus, settings: Settings) -> dict[str, Any]:
        return {
            "model": self.begin.name,
            "data": self.data if isinstance(self.data, str) else corpus.name,
            "fingerprint": corpus.fingerprint,
            "sizes": dict(corpus.sizes),
            "overrides": {key: str(value) for key, value in self.begin.overrides.items()},
            "processes": self.fabric.world_size,
            "settings": settings.to_dict(),
            "command": self.command,
        }

    def _start(self, facts: dict[str, Any]) -> Snapshot | None:
        """Read the newest checkpoint, if the training goes on."""
        if not self.resume or self.folder is None:
            return None
        record = read_record(self.folder)
        if record:
            refuse_other(record, facts, self.folder)
        return checkpoint.read(self.folder / STATE)

    def _fit(
        self,
        model: nn.Module,
        corpus: Corpus,
        order: Order,
        objective: Objective,
        settings: Settings,
        facts: dict[str, Any],
        start: Snapshot | None,
    ) -> tuple[Outcome, dict[str, float]]:
        assert settings.optimizer
        assert settings.learning_rate
        assert settings.weight_decay is not None
        assert settings.steps
        optimizers = optimizers_for(settings.optimizer, model, settings.learning_rate, settings.weight_decay)
        plan = Plan(
            steps=settings.steps, schedule=settings.make_schedule(), clip=settings.clip,
            accumulate=settings.accumulate, validations=settings.validations or 1, patience=settings.patience,
        )  # fmt: skip

        def judge(model: nn.Module, split: str = "validation") -> dict[str, float]:
            with torch.no_grad(), self.fabric.autocast():
                return corpus.score(model, split, settings.batch_size)

        with ExitStack() as stack:
            watches: list[Callback] = []
            keeper = None
            if self.folder is not None:
                curve = Curve(plan.steps, start.facts.get(CURVE) if start else None)
                keeper = Keeper(self.folder, model, corpus, facts, curve)
                watches += [stack.enter_context(Stop())]
            if self.fabric.is_global_zero:
                watches += [keeper] if keeper else []
                watches += [stack.enter_context(Show(plan.steps, self.resume))] if self.progress else []
            done = (start.step if start else 0) * plan.accumulate
            outcome = fit(
                model, objective, order.batches(done), optimizers,
                plan=plan, fabric=self.fabric, validate=judge, watch=_Several(watches), start=start,
            )  # fmt: skip
            stopped = outcome.ended == "asked to"
            scores = judge(model.eval(), "test") if corpus.sizes.get("test") and not stopped else {}
            if keeper is not None and self.fabric.is_global_zero:
                keeper.draw(outcome)
                if not stopped:
                    keeper.save_model()
                    keeper.record(outcome, scores)
        return outcome, scores


@contextmanager
def kept() -> Iterator[None]:
    """Put back what a training changes for the whole process: random numbers, Lightning's log, denormal numbers.

    Torch cannot be asked whether it flushes denormal numbers: a product of two tells.
    """
    logger = logging.getLogger(_LOGGER)
    level, words, numbers, drawn = logger.level, random.getstate(), np.random.get_state(), torch.get_rng_state()
    flushes = float(torch.tensor([1e-39]) * torch.tensor([0.5])) == 0.0
    try:
        yield
    finally:
        logger.setLevel(level)
        random.setstate(words)
        np.random.set_state(numbers)
        torch.set_rng_state(drawn)
        torch.set_flush_denormal(flushes)


class _Several(Callback):
    """Let several watch."""

    def __init__(self, watches: Sequence[Callback]) -> None:
        self.watches = watches

    def begun(self, outcome: Outcome) -> None:
        for watch in self.watches:
            watch.begun(outcome)

    def stepped(self, step: int, loss: Tensor) -> None:
        for watch in self.watches:
            watch.stepped(step, loss)

    def validated(self, outcome: Outcome) -> None:
        for watch in self.watches:
            watch.validated(outcome)

    def wish(self) -> Request:
        wishes = [watch.wish() for watch in self.watches]
        return Request(any(wish.save for wish in wishes), any(wish.stop for wish in wishes))

    def save(self, snapshot: Snapshot) -> None:
        for watch in self.watches:
            watch.save(snapshot)


def _vocabulary(corpus: Corpus) -> str:
    """Give the text of the tokenizer that a corpus saves; empty if it has none."""
    with tempfile.TemporaryDirectory() as scratch:
        corpus.save(Path(scratch))
        path = Path(scratch) / "tokenizer.json"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def _objective(corpus: Corpus, model: nn.Module, settings: Settings) -> Objective:
    """Put the aids together that the settings ask for."""
    assert settings.label_smoothing is not None
    assert settings.steps
    objective: Objective = Taught(corpus, settings.label_smoothing)
    if settings.guided_attention or settings.monotonic:
        objective = GuidedAttention(objective, model, settings.guided_attention, settings.monotonic)
    if settings.scheduled_sampling:
        rate = rising(settings.scheduled_sampling, settings.steps)
        objective = ScheduledSampling(objective, model, rate)
    if settings.corrupt:
        objective = Corrupted(objective, model, settings.corrupt)
    return objective


def _seed(*key: int) -> None:
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    torch.manual_seed(int(words[0]))
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))
