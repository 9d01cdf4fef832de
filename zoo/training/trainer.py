"""`Trainer`: puts the parts of one training together, runs the loop, evaluates on the test examples and saves."""

import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn
from torch.optim import Optimizer

from zoo.core.ops import products
from zoo.data.batches.workers import FEWER, Workers, default_workers
from zoo.data.corpus import Corpus, check_task, open_corpus
from zoo.data.corpus_options import with_options
from zoo.data.python.given import NAME, GivenData, open_given
from zoo.data.subsets import nested, warn_of_notes
from zoo.processors import cores
from zoo.training.callbacks.callback import Callback, Callbacks
from zoo.training.callbacks.data_wait import WarnOfDataWait
from zoo.training.callbacks.log_scores import LogScores, loggers_for
from zoo.training.callbacks.loss_curve import LossCurve
from zoo.training.callbacks.progress import ProgressDisplay
from zoo.training.callbacks.save_run import CURVE, SaveRunFolder
from zoo.training.callbacks.signals import StopOnSignal
from zoo.training.config import Devices, Settings
from zoo.training.criterion import Criterion, PlainScores, check_metric, criterion_for, goodness
from zoo.training.defaults import resolved
from zoo.training.distributed.devices import accelerator_of, launch
from zoo.training.distributed.shared_corpus import open_shared
from zoo.training.extensions import Extensions
from zoo.training.fine_tuning.chosen_weights import adapted, choose_weights
from zoo.training.fine_tuning.layer_decay import decay_by_layer
from zoo.training.fine_tuning.low_rank import merge
from zoo.training.fine_tuning.probe import check_probe, fit_probe
from zoo.training.initial_model import InitialModel
from zoo.training.loop import Objective, Plan, fit
from zoo.training.losses.objectives import objective_for
from zoo.training.losses.own_loss import name_of, own_score
from zoo.training.optimization.optimizers import optimizers_for, schedule_for
from zoo.training.optimization.precision import resolve_precision
from zoo.training.resume.checkpoint import Snapshot
from zoo.training.resume.random_state import FABRIC_LOG, seed_all
from zoo.training.resume.run_folder import RunFolder
from zoo.training.resume.train_state import Outcome, Validation, best_weights, outcome_of
from zoo.training.sampler import Sampler


@dataclass(frozen=True)
class Trained:
    """Result of a training."""

    model: nn.Module
    """In evaluation mode, with the weights of the best checkpoint."""
    folder: Path | None
    scores: dict[str, float]
    """On the test examples, each as it is: `loss`, also where the data name it `-loss`, for which higher is better.
    Empty where the training was stopped before its end."""
    outcome: Outcome
    settings: Settings
    """With all defaults resolved."""
    first: bool = True
    """Whether this is the first of several processes, the one that prints."""
    was_finished: bool = False
    """Whether the folder held this training, finished: nothing was trained or tested now."""
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of the data and the settings, as the run folder has it; with the labels and the tokenizer if it is new."""


@dataclass(frozen=True)
class _Parts:
    """What one training is made of, once all of it is known."""

    model: nn.Module
    corpus: Corpus
    sampler: Sampler
    settings: Settings
    objective: Objective
    facts: dict[str, Any]
    """For the record of the run folder, and to compare a resumed training with."""


def _recorded(parts: _Parts) -> dict[str, Any]:
    """Give the facts of a training, and what a run folder has in files of its own: labels and tokenizer."""
    own = {"labels": list(getattr(parts.corpus, "labels", ())), "tokenizer": getattr(parts.corpus, "tokenizer", None)}
    return parts.facts | own


class Trainer:
    """Train a model on data.

    Args:
        initial: the model it starts from.
        given: settings, not resolved.
        devices: where it runs.
        folder: where it is saved, and resumed from.
        progress: whether progress is shown.
        command: that repeats it, for the record.
        extensions: what the program brings: callbacks, a loss, a metric, loggers.
    """

    def __init__(
        self,
        initial: InitialModel,
        given: Settings,
        devices: Devices,
        folder: RunFolder,
        progress: bool = False,
        command: str = "",
        extensions: Extensions = Extensions(),  # noqa: B008  frozen
    ) -> None:
        self.extensions = extensions
        self.initial, self.given, self.folder, self.progress, self.command = initial, given, folder, progress, command
        logging.getLogger(FABRIC_LOG).setLevel(logging.ERROR)  # announces precision and processes
        self.precision = resolve_precision(folder.precision(given.precision), accelerator_of(devices))
        self.fabric: Fabric = launch(devices, self.precision)

    def train(self, data: str | Corpus | GivenData) -> Trained:
        """Train, and evaluate the best checkpoint on the test examples.

        What the user has to know of the data, such as files that cannot be read, is a warning, before and at the end.

        Args:
            data: a name for `open_corpus`, a corpus, or examples.
        """
        torch.set_flush_denormal(True)  # dying activations cost ten times as much otherwise
        corpus = self.open(data) if isinstance(data, str | GivenData) else data
        with self.fabric.rank_zero_first(local=True):  # the others find its cache
            corpus = with_options(corpus, self.given.augment, self.given.cache, self.given.mixup)
        told = warn_of_notes(corpus) if self.fabric.is_global_zero else ()
        self._tell(corpus)
        parts = self._parts(corpus, data if isinstance(data, str) else corpus.name)
        if self.fabric.is_global_zero:
            self.folder.clear()
        start = self.folder.snapshot(parts.facts)
        if parts.settings.probe:
            return self._probed(parts)
        record = self.folder.finished()
        if start is not None and record is not None:
            return self._stored(parts, start, record)
        seed_all(self.given.seed, 1 + self.fabric.global_rank)
        outcome, scores = self._run(parts, start)
        if self.fabric.is_global_zero:
            warn_of_notes(corpus, told)  # of what was found while training
        first = self.fabric.is_global_zero
        return Trained(
            parts.model.eval(),
            self.folder.path,
            PlainScores(scores),
            outcome,
            parts.settings,
            first,
            record=_recorded(parts),
        )

    def _tell(self, corpus: Corpus) -> None:
        """Say in a line what was understood of the data, where progress is shown, and to the logger `zoo.data`."""
        if not self.fabric.is_global_zero:
            return
        sizes = ", ".join(f"{part} {count:,}" for part, count in corpus.sizes.items())
        line = f"data: {corpus.description} In use: {sizes}."
        logging.getLogger("zoo.data").info(line)
        if self.progress:
            print(line, file=sys.stderr, flush=True)

    def open(self, data: str | GivenData) -> Corpus:
        """Open data, with the tokenizer of the training that is resumed, the settings or the weights."""
        tokenizer = self.folder.saved_tokenizer() or self.given.tokenizer or self.initial.tokenizer
        spec, seed = self.initial.spec, self.given.seed

        def read(name: str, kind: str) -> Corpus:
            return open_corpus(data, spec, seed, kind) if isinstance(data, str) else open_given(data, spec, seed, kind)

        return open_shared(data if isinstance(data, str) else NAME, tokenizer, read, self.fabric)

    def _parts(self, corpus: Corpus, data: str) -> _Parts:
        seed_all(self.given.seed)
        check_task(corpus, self.initial.spec)
        if self.given.probe:
            check_probe(self.given, corpus.task, corpus.name, self.fabric.world_size)
            self.extensions.check_unused("probe=True")
        model = self.initial.make(corpus.overrides())
        choose_weights(model, self.given)
        fabric = self.fabric
        sampler = Sampler(corpus, self.given.batch_size, self.given.seed, fabric.global_rank, fabric.world_size)
        per_epoch = sampler.per_epoch / (self.given.accumulate * fabric.world_size)
        settings = resolved(
            self.given, self.initial.spec, corpus, model, per_epoch,
            tuned=self.initial.tuned, precision=self.precision,
            workers=default_workers(self._processes, shared=fabric.device.type == "cpu"),
        )  # fmt: skip
        objective = adapted(objective_for(corpus, model, settings, self.extensions.loss), model, settings)
        known = getattr(corpus, "metrics", None)
        if settings.metric and self.extensions.metric is None and callable(known):
            check_metric(settings.metric, known(model))
        return _Parts(model, corpus, sampler, settings, objective, self._facts(corpus, data, settings))

    @property
    def _processes(self) -> int:
        """Processes of the training on this machine."""
        return max(1, self.fabric.world_size // getattr(self.fabric.strategy, "num_nodes", 1))

    def _facts(self, corpus: Corpus, data: str, settings: Settings) -> dict[str, Any]:
        return {
            "model": self.initial.name,
            "data": data,
            "fingerprint": corpus.fingerprint,
            "sizes": dict(corpus.sizes),
            "overrides": {key: str(value) for key, value in self.initial.overrides.items()},
            "weights": None if self.initial.weights is None else str(self.initial.weights),
            "pretrained": self.initial.pretrained,
            "processes": self.fabric.world_size,
            "threads": torch.get_num_threads(),
            "products": products.chosen() if self.fabric.device.type == "cpu" else None,
            "settings": settings.to_dict(),
            **self.extensions.facts,
            "command": self.command,
        }

    def _run(self, parts: _Parts, start: Snapshot | None) -> tuple[Outcome, dict[str, float]]:
        settings, corpus = parts.settings, parts.corpus
        plan = _plan(settings, criterion_for(corpus, settings.metric))
        assert settings.optimizer
        assert settings.learning_rate
        assert settings.weight_decay is not None
        optimizers = optimizers_for(settings.optimizer, parts.model, settings.learning_rate, settings.weight_decay)
        if settings.layer_decay is not None:
            decay_by_layer(optimizers, parts.model, settings.layer_decay)

        def evaluate(model: nn.Module, split: str = "validation") -> dict[str, float]:
            with torch.no_grad(), self.fabric.autocast():
                scores = corpus.score(model, split, settings.batch_size)
                if (metric := self.extensions.metric) is not None:
                    own = own_score(metric, corpus, model, split, settings.batch_size)
                    scores = {name_of(metric): own} | scores | {name_of(metric): own}  # first, and not the data's
                return scores

        saver = self._saver(parts, start)
        logged = self._logged(parts, optimizers)
        done = (start.step if start else 0) * plan.accumulate
        with self._callbacks(parts, saver, logged) as callbacks, self._workers(parts):
            outcome = fit(
                parts.model, parts.objective, parts.sampler.packed(done), optimizers,
                plan=plan, fabric=self.fabric, validate=evaluate, callback=callbacks, start=start,
            )  # fmt: skip
            finished = outcome.ended != "asked to"
            scores = evaluate(parts.model.eval(), "test") if corpus.sizes.get("test") and finished else {}
            if saver is not None and self.fabric.is_global_zero:
                saver.finish(outcome, scores if finished else None)
            callbacks.on_end(outcome, scores)
        merge(parts.model)
        return outcome, scores

    def _probed(self, parts: _Parts) -> Trained:
        """Fit the head alone; the run is saved as one of a single step."""
        begun, batch_size = time.monotonic(), parts.settings.batch_size
        model = parts.model.to(self.fabric.device).eval()
        fit_probe(model, parts.corpus, parts.settings)
        criterion = criterion_for(parts.corpus, parts.settings.metric)
        with torch.no_grad():
            held = parts.corpus.score(model, "validation", batch_size)
            tested = bool(parts.corpus.sizes.get("test"))
            scores = parts.corpus.score(model, "test", batch_size) if tested else {}
        name = criterion.names(held)[0]
        entry = Validation(1, held.get("loss", 0.0), goodness(name, held[name]), held)
        outcome = Outcome(1, time.monotonic() - begun, 1, entry.score, [entry], criterion=criterion)
        if (saver := self._saver(parts, None)) is not None:
            saver.on_start(Outcome())
            saver.finish(outcome, scores)
        return Trained(model, self.folder.path, PlainScores(scores), outcome, parts.settings, record=_recorded(parts))

    def _stored(self, parts: _Parts, end: Snapshot, record: dict[str, Any]) -> Trained:
        """Give the result of a training that is finished, as its folder has it."""
        criterion = criterion_for(parts.corpus, parts.settings.metric)
        outcome = replace(outcome_of(end, criterion), ended=record["ended"])
        model = self.fabric.strategy.precision.convert_module(parts.model).to(self.fabric.device).eval()
        model.load_state_dict(best_weights(end))
        merge(model)
        first = self.fabric.is_global_zero
        return Trained(
            model, self.folder.path, PlainScores(record["test"]), outcome, parts.settings, first, True, record
        )

    def _saver(self, parts: _Parts, start: Snapshot | None) -> SaveRunFolder | None:
        if self.folder.path is None:
            return None
        assert parts.settings.steps
        curve = LossCurve(parts.settings.steps, start.facts.get(CURVE) if start else None)
        return SaveRunFolder(self.folder.path, parts.model, parts.corpus, parts.facts, curve)

    def _logged(self, parts: _Parts, optimizers: Sequence[Optimizer]) -> list[Callback]:
        """Give the callback that logs, in the first process, where a logger is asked for."""
        if not self.fabric.is_global_zero:
            return []
        assert parts.settings.steps
        named = loggers_for(parts.settings.logger, self.folder.path, parts.facts)
        loggers = [*named, *self.extensions.loggers]
        return [LogScores(loggers, optimizers, parts.settings.steps)] if loggers else []

    def _workers(self, parts: _Parts) -> Workers:
        """Give the processes that make the batches of training, validation and test."""
        workers, owners = parts.settings.workers, (parts.sampler, *nested(parts.corpus))
        assert workers is not None
        advice = f"{FEWER} with --resume, or begin again with a --batch-size below {parts.settings.batch_size}"
        return Workers(*owners, workers=workers, pin=self.fabric.device.type == "cuda", advice=advice)

    @contextmanager
    def _callbacks(self, parts: _Parts, saver: SaveRunFolder | None, logged: Sequence[Callback]) -> Iterator[Callback]:
        """Put the callbacks of this process together: all of them hear signals, the first saves and shows."""
        settings = parts.settings
        assert settings.steps
        assert settings.workers is not None
        callbacks: list[Callback] = [StopOnSignal()] if saver else []
        if self.fabric.is_global_zero:
            callbacks += [saver] if saver else []
            callbacks += [ProgressDisplay(settings.steps, self.folder.resume)] if self.progress else []
            cacheable = getattr(parts.corpus, "cacheable", False)
            callbacks += [WarnOfDataWait(settings.workers, cores() // self._processes, cacheable)]
            callbacks += [*logged, *self.extensions.callbacks]
        with Callbacks(callbacks) as together:
            yield together


def _plan(settings: Settings, criterion: Criterion) -> Plan:
    assert settings.steps
    assert settings.schedule
    assert settings.warmup
    assert settings.validations
    return Plan(
        steps=settings.steps,
        schedule=schedule_for(settings.schedule, settings.steps, settings.warmup),
        clip=settings.clip,
        accumulate=settings.accumulate,
        validations=settings.validations,
        patience=settings.patience,
        criterion=criterion,
        average=settings.ema,
    )
