"""`Subject`: the run or model that is judged: its labels, its tokenizer, how its inputs are prepared, and its data."""

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.data.corpus import Corpus, check_task, find_source, open_corpus
from zoo.data.corpus_options import PreparesInputs
from zoo.data.labelling.labels import labels_of
from zoo.data.purpose import to_judge
from zoo.data.python.given import NAME, GivenData, is_given, open_given
from zoo.data.tables.table import PARTS
from zoo.errors import ConfigError, DataError, WeightsError, ZooError
from zoo.factory import create
from zoo.pipeline import Pipeline
from zoo.spec import ModelSpec
from zoo.training.resume.run_folder import RECORD
from zoo.weights import hub
from zoo.weights.token_ids import tokenizer_name

_FREE = ("num_classes", "units", "image_size", "labels", "symbols", "blank", "task", "target")
"""Keywords that fit a model to data, of which others than those of the data do no harm, or which are checked apart."""
LABELLED = ("classify", "tag", "multi-label")
"""Tasks whose answers are scores of labels, or numbers."""


@dataclass(frozen=True)
class Subject:
    """What is judged.

    Args:
        name: of the run or model.
        spec: of the model, with its configuration.
        labels: of the model, in its order; none where nobody told them.
        record: of its training; empty where it has none.
        model: in evaluation mode; None until it is loaded.
        pipeline: that loads it; None for a model that was given.
    """

    name: str
    spec: ModelSpec
    labels: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    given: Any = field(default=None, repr=False)
    pipeline: Pipeline | None = field(default=None, repr=False)

    @classmethod
    def of(cls, run: Any, device: str = "cpu", int8: bool = False) -> "Subject":
        """Take a run by its folder or name, what `zoo.train` gave, or a model that `zoo.create` made.

        Raises:
            WeightsError: If a path holds no run.
            UnknownModelError: If a name is none of a model.
            ConfigError: If it is something else, or a model without weights.
        """
        folder, record = getattr(run, "folder", None), {}
        if folder is not None:
            run = folder
        elif hasattr(run, "outcome"):  # a training that was saved nowhere
            run, record = run.model, {"settings": run.settings.to_dict()} | dict(run.record)
        if isinstance(run, str | Path):
            return cls._named(str(run), device, int8)
        spec = getattr(run, "spec", None)
        if not isinstance(spec, ModelSpec):
            raise ConfigError(
                f"run={type(run).__name__}: give the folder of a run, the name of a model with weights, or a model "
                "that zoo.create made"
            )
        return cls(spec.name, spec, tuple(record.get("labels", ())), record, given=run)

    @classmethod
    def _named(cls, name: str, device: str, int8: bool) -> "Subject":
        pipeline = Pipeline(name, device, int8=int8)
        spec = pipeline.spec
        tagged = spec.weights.get(name.partition(".")[2]) or next(iter(spec.weights.values()), "")
        where = pipeline.name if hub.is_repository(pipeline.name) else tagged
        if not where:
            raise ConfigError(f"{name!r} has no published weights, and random ones are not worth judging: give a run")
        labels = labels_of({**spec.config, "repository": where})
        return cls(name, spec, tuple(labels), _record_of(where), pipeline=pipeline)

    @property
    def model(self) -> Any:
        """The model with its weights, in evaluation mode."""
        return self.given.eval() if self.pipeline is None else self.pipeline.model

    @property
    def target(self) -> str:
        """What an answer is: `class`, `labels` or `numbers`."""
        return target_of(self.spec.task, self.spec.config)

    def hook(self, name: str) -> Any:
        """Give the `preprocess` or `postprocess` of the model; None where it has none."""
        make = getattr(create, name)
        with suppress(ZooError, OSError):
            return make(self.given if self.pipeline is None else self.pipeline.name)
        return None

    def open(self, data: Any, columns: Mapping[str, str] | None = None) -> Corpus:
        """Open data as the run reads them: with its tokenizer, its split and the preparation of its inputs.

        Args:
            data: as for `zoo.train`; None for those of the training.
            columns: of examples with named columns, the column of each role.

        Raises:
            DataError: If the data cannot be opened, or have labels that the run lacks.
            ConfigError: If the run cannot read them.
        """
        corpus: Any = self._of_training() if data is None else data
        if isinstance(corpus, str | Path):
            corpus = self._opened(str(corpus))
        elif is_given(corpus):
            corpus = self._opened(GivenData(parts_of(corpus), dict(columns or {})))
        self._check(corpus)
        same = corpus.fingerprint == self.record.get("fingerprint")
        if isinstance(corpus, PreparesInputs) and not same:
            preprocess = self.hook("preprocess")
            if hasattr(preprocess, "portable"):
                corpus = corpus.with_preparation(preprocess.portable())
        return corpus

    def _of_training(self) -> str:
        """Give the name of the data of the training.

        Raises:
            ConfigError: If it tells none that can be opened again.
        """
        data = str(self.record.get("data", ""))
        if not data:
            raise ConfigError(f"{self.name!r} tells no data that it was trained on: name some with data=")
        if data == NAME:
            raise ConfigError(
                f"{self.name!r} was trained on {NAME}, which no run stores: give examples to judge, as data="
            )
        try:
            find_source(data, self.spec)
        except DataError as error:
            raise ConfigError(
                f"{self.name!r} was trained on {data!r}, which cannot be opened again: give data=, such as "
                f"a corpus of your own: {error}"
            ) from error
        return data

    def _opened(self, data: "str | GivenData") -> Corpus:
        where = self.pipeline.name if self.pipeline is not None else ""
        if where and not hub.is_repository(where):
            where = next(iter(self.spec.weights.values()), "")
        tokenizer = tokenizer_name(where, self.spec) if where else ""
        seed = int(self.record.get("settings", {}).get("seed", 0))
        with to_judge(), tempfile.TemporaryDirectory() as folder:
            if (own := self.record.get("tokenizer")) is not None:  # of a training that was saved nowhere
                tokenizer = str(Path(folder) / "tokenizer.json")
                own.save(tokenizer)
            if isinstance(data, GivenData):
                return open_given(data, self.spec, seed, tokenizer)
            return open_corpus(data, self.spec, seed, tokenizer)

    def _check(self, corpus: Corpus) -> None:
        check_task(corpus, self.spec)
        if corpus.task != self.spec.task:
            raise ConfigError(
                f"{self.name!r} was made for task {self.spec.task!r}, the data {corpus.name!r} ask for {corpus.task!r}"
            )
        fitting = json.loads(json.dumps(corpus.overrides()))
        config = json.loads(json.dumps(dict(self.spec.config), default=str))
        for key, value in fitting.items():
            if key in config and key not in _FREE and config[key] != value:
                raise ConfigError(
                    f"{self.name!r} reads {key}={config[key]!r}, and the data {corpus.name!r} have {value!r}"
                )
        if (target := target_of(corpus.task, fitting)) != self.target:
            raise ConfigError(
                f"{self.name!r} was trained on targets of kind {self.target!r}, and the data {corpus.name!r} have "
                f"{target!r}"
            )

    def order_of(self, corpus: Corpus) -> list[int]:
        """Give the place among the run's labels of each label of the data; nothing where these have none.

        Raises:
            DataError: If the run lacks labels, which are named; or nobody knows which is which.
        """
        wanted = list(getattr(corpus, "labels", ()))
        if not wanted or corpus.task not in LABELLED:
            return []
        if self.labels:
            lacking = [label for label in wanted if label not in self.labels]
            if lacking:
                more = f" and {len(lacking) - 5:,} more" if len(lacking) > 5 else ""
                raise DataError(
                    f"{corpus.name} has {'labels' if len(lacking) > 1 else 'the label'} {', '.join(lacking[:5])}{more}"
                    f", which {self.name!r} lacks; it has {', '.join(self.labels[:20])}"
                )
            return [self.labels.index(label) for label in wanted]
        count = self.spec.config.get("num_classes")
        if count != len(wanted):
            raise DataError(
                f"{corpus.name} has {len(wanted)} labels ({', '.join(wanted[:5])}, …), and {self.name!r}, whose labels "
                f"have no names, {count}"
            )
        return list(range(len(wanted)))


def parts_of(given: Any) -> dict[str, Any]:
    """Let all examples that a program gives be those of each part; data with parts of their own keep them."""
    return {"train": given} if isinstance(given, Mapping) else dict.fromkeys(PARTS, given)


def _record_of(where: str) -> dict[str, Any]:
    """Read the record of a training in a folder or a repository of the hub; empty where it has none.

    Raises:
        WeightsError: If the record of a folder cannot be read.
    """
    if where.startswith("local-dir:"):
        return hub.read_json(where, RECORD)
    found: dict[str, Any] = {}
    with suppress(WeightsError):
        found = hub.read_json(where, RECORD) if hub.is_repository(where) else {}
    return found if "zoo_version" in found else {}


def target_of(task: str, config: Mapping[str, Any]) -> str:
    """Say what an answer is, by the task and the configuration of a model: `class`, `labels` or `numbers`."""
    return "labels" if task == "multi-label" else str(config.get("target", "class"))
