"""`Pipeline`: a checkpoint with its preprocessing and postprocessing, from raw inputs to answers."""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from zoo.answers import Filled
from zoo.errors import ConfigError, InputError, UnknownModelError, WeightsError
from zoo.factory import create
from zoo.factory.keywords import accepted
from zoo.registry import entry_loading
from zoo.spec import ModelSpec
from zoo.weights import hub

BATCH = 32
"""Inputs that are computed together."""
MAX_LEN = 256
"""New tokens at most of a model that sets no bound, where the caller sets none."""


class Pipeline:
    """A model with what prepares its inputs and what reads its outputs; each is loaded when it is first used.

        for text, labels in Pipeline("runs/tags").predict(["a text"]): ...
        for text, answers in Pipeline("runs/numbers").generate(["twelve"], beam=4): ...

    Args:
        name: a folder that `zoo train` wrote, `hf-hub:org/name`, or a model with published weights.
        device: where the model computes.
        model: taken in place of the one that the name gives.
        task: of a name with published weights, as for `zoo.create`; a repository has its own.
        workers: processes that read files ahead of `predict`; None for `zoo.data.default_workers`.
        int8: whether the model computes with int8 weights, see `zoo.quantize`.

    Raises:
        ConfigError: If there is no such device, or int8 is not for it.
        WeightsError: If the name is a path that holds no checkpoint.
        UnknownModelError: If it is no model.
    """

    def __init__(
        self,
        name: str,
        device: str = "cpu",
        model: Any = None,
        task: str | None = None,
        workers: int | None = None,
        int8: bool = False,
    ) -> None:
        self.int8 = int8
        self.name, self.device, self.workers = reference(name), device, workers
        if device != "cpu":
            create.place(device)  # before anything is read
        self.task = None if hub.is_repository(self.name) else task
        self.batch_size = BATCH
        if model is not None:
            self.model = model

    @cached_property
    def spec(self) -> ModelSpec:
        """Record of the model; reads no weights."""
        spec = create.info(self.name)
        return replace(spec, task=self.task) if self.task in spec.tasks and spec.weights else spec

    @property
    def _given_task(self) -> str | None:
        return self.task if self.task == self.spec.task else None

    @cached_property
    def model(self) -> Any:
        """The model with its weights, in evaluation mode.

        Raises:
            WeightsError: If it has none, or they cannot be read.
        """
        from zoo.weights.checkpoint import NoneExistError

        self._check_weights()
        try:
            made = create.create(self.name, pretrained=True, device=self.device, task=self._given_task).eval()
        except NoneExistError as error:  # of a part
            raise self._without_weights(error.model) from error
        if not self.int8:
            return made
        from zoo.core import is_quantized, quantize

        return made if is_quantized(made) else quantize(made)

    def _check_weights(self) -> None:
        if hub.is_repository(self.name) or self.spec.weights:
            return
        if "pretrained" not in accepted(entry_loading.load(self.spec))[0]:  # else its parts have weights of their own
            raise self._without_weights(self.spec.name)

    def _without_weights(self, model: str) -> WeightsError:
        part = "" if model == self.spec.name else f", a part of {self.spec.name}"
        return WeightsError(
            f"No pretrained weights exist for {model}{part}: train it, and give the folder that zoo train --out wrote"
        )

    @cached_property
    def preprocess(self) -> Any:
        """Turns raw inputs into those of the model."""
        return create.preprocess(self.name)

    @cached_property
    def postprocess(self) -> Any:
        """Turns outputs into answers: labels, texts, sounds."""
        if not self.spec.postprocess:
            return LabelProbabilities(self.spec)
        return create.postprocess_for(self.name, self._given_task)

    @property
    def default_max_len(self) -> int | None:
        """Bound of the new tokens where the caller sets none; None where the model has one."""
        return MAX_LEN if getattr(self.model, "max_len", None) is None else None

    def inputs(self, raw: Any) -> tuple[Any, ...]:
        """Prepare raw inputs: tensors on the model's device.

        Raises:
            InputError: If one cannot be read.
        """
        return self.placed(prepared(self.preprocess, raw))

    def read(
        self, parts: Iterable[Any], skip: Callable[[str, InputError], None] | None = None
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Yield raw inputs and what `inputs` gives for them, in order; files are read ahead by workers.

        Args:
            parts: a raw input, or a list of them that are prepared together, or one by one where one cannot be read.
            skip: called with inputs that cannot be read and their errors; by default the first such error is raised.

        Raises:
            InputError: If an input cannot be read.
        """
        from zoo.data.batches.workers import Workers

        reader = _Reader(self.preprocess, skips=skip is not None)
        parts = iter(parts)
        first = [] if self.workers == 0 or self.batch_size == 1 else list(islice(parts, 2))  # no part waits for another
        calls = ((part,) for part in chain(first, parts))
        pin = self.device.startswith("cuda")
        with Workers(reader, workers=self._workers_for(first), pin=pin) as workers:
            for found in workers.read(reader.read, calls):
                for part, inputs in found:
                    if not isinstance(inputs, InputError):
                        yield part, self.placed(inputs)
                    elif skip is not None:
                        skip(part if isinstance(part, str) else part[0], inputs)

    def _workers_for(self, first: Sequence[Any]) -> int:
        """Give the number of workers: by default none where there is one part, or the inputs are no files."""
        from zoo.data.batches.workers import default_workers

        if len(first) < 2:
            return 0
        if self.workers is not None:
            return self.workers
        name = first[0] if isinstance(first[0], str) else first[0][0]
        is_file = isinstance(name, str) and os.path.isfile(name)
        return default_workers(shared=self.device == "cpu") if is_file else 0

    def placed(self, inputs: Any) -> tuple[Any, ...]:
        """Bring inputs to the model's device; a single one becomes a tuple."""
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        return tuple(each.to(self.device) if hasattr(each, "to") else each for each in inputs)

    def predict(
        self,
        raw: Iterable[Any],
        skip: Callable[[Any, InputError], None] | None = None,
        masks: int | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each input with its answer: probabilities by label, a list of tags, or a text.

        The inputs are taken and answered `batch_size` at a time, so that there may be any number of them.

        Args:
            raw: texts, pairs of texts as tuples, names of files, SMILES.
            skip: called with inputs that cannot be read and their errors; by default the first such error is raised.
            masks: of a model that fills masks: give the text as `Filled`, with so many tokens for each mask.

        Raises:
            ConfigError: If the model has no labels.
            InputError: If an input cannot be read.
        """
        self.check_predicts()
        return self._predict(raw, skip, masks)

    def check_predicts(self) -> None:
        """Check that the model has labels, or fills masks, before weights are loaded.

        Raises:
            ConfigError: If it does not.
        """
        if self.is_unlabelled or self.spec.task in ("generate", "features"):
            other = "use zoo generate" if self.spec.task == "generate" else "it returns feature vectors, --features"
            raise ConfigError(f"{self.name!r} is a '{self.spec.name}' without labels: {other}")

    def answers(self, raw: list[Any], masks: int | None = None) -> list[Any]:
        """Answer raw inputs, of any kind that `preprocess` reads, in one batch; see `predict`.

        Raises:
            InputError: If one cannot be read.
        """
        return self._answered(raw, self.inputs(raw), masks)

    def features(
        self, raw: Iterable[Any], skip: Callable[[str, InputError], None] | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each input with its feature vector, an array of float32: what the head pools, or the mean vector.

        Args:
            raw: texts, names of files, SMILES.
            skip: called with inputs that cannot be read and their errors; by default the first such error is raised.

        Raises:
            ConfigError: If the model has no feature vectors.
            InputError: If an input cannot be read.
        """
        for part, inputs in self.read(self._parts(raw), skip):
            yield from zip(part, self.vectors(inputs), strict=True)

    def vectors(self, inputs: tuple[Any, ...]) -> Any:
        """Give the feature vectors of prepared inputs, an array of float32 (inputs, channels).

        Raises:
            ConfigError: If the model has none.
        """
        import torch

        if not hasattr(self.model, "pooled_features"):
            raise ConfigError(f"{self.name!r} is a {type(self.model).__name__} without pooled_features(*inputs)")
        with torch.no_grad():
            return self.model.pooled_features(*inputs).float().cpu().numpy()

    def answering(self) -> "Pipeline":
        """Give the pipeline that answers: of published weights without labels the one that fills masks, if there is."""
        if not self.is_unlabelled or "model" in vars(self):
            return self
        found = Pipeline(self.name, self.device, task="masked-token", workers=self.workers, int8=self.int8)
        return found if found.spec.task == "masked-token" else self

    @property
    def is_unlabelled(self) -> bool:
        """Whether the model is one of labels, and has none."""
        return self.spec.task in ("classify", "multi-label", "tag") and self.spec.config.get("num_classes") == 0

    @property
    def reads_files(self) -> bool:
        """Whether a raw input that is a text names a file, which `preprocess` would open."""
        told = getattr(self.preprocess, "reads_files", None)
        return not self.reads_texts if told is None else bool(told)

    @property
    def input_kind(self) -> str:
        """What the model reads, in the plural, as its preprocessing calls it: `texts`, `pictures`, `files`."""
        return str(getattr(self.preprocess, "input_kind", "files" if self.reads_files else "texts"))

    @property
    def reads_texts(self) -> bool:
        """Whether a raw input is a text, or a pair of texts."""
        return self.spec.reads in ("encoder", "source", "prompt")

    @property
    def answers_numbers(self) -> bool:
        """Whether an answer by name holds numbers, as of a regression, and no probabilities."""
        return bool(self.spec.config.get("target") == "numbers")

    def generate(
        self, raw: Iterable[str], skip: Callable[[str, InputError], None] | None = None, **options: Any
    ) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """Yield each input with its answers and their scores, best first.

        Args:
            raw: texts, or names of files.
            skip: called with inputs that cannot be read and their errors; by default the first such error is raised.
            options: of the model's `generate`, such as `beam` and `max_len`; `stop` takes strings, too.

        Raises:
            ConfigError: If the model does not generate.
            InputError: If an input cannot be read.
        """
        self.check_generates()
        options = self._with_stop(options)
        for part, inputs in self.read(self._parts(raw), skip):
            found = self.model.generate(*inputs, **options)
            for line, ids, lengths, scores in zip(part, found.ids, found.lengths, found.scores, strict=True):
                rows = [row[:length].tolist() for row, length in zip(ids, lengths.tolist(), strict=True)]
                pairs = zip(self.postprocess(rows), scores.tolist(), strict=True)
                yield line, [(text, score) for text, score in pairs if score > -math.inf]

    def stream(self, raw: Any, **options: Any) -> Iterator[str]:
        """Yield the answer to one input piece by piece; a character of several bytes comes when it is complete.

        Args:
            raw: a text, or the name of a file.
            options: of the model's `generate_steps`; `stop` takes strings, too.

        Raises:
            ConfigError: If the model does not generate token by token.
        """
        self.check_generates()
        options = self._with_stop(options)
        if not hasattr(self.model, "generate_steps"):
            raise ConfigError(f"--stream with '{self.model.spec.name}', which generates all tokens at once")
        ids: list[int] = []
        shown = ""
        for step in self.model.generate_steps(*self.inputs([raw]), **options):
            if int(step[0]) == self.model.symbols.eos:
                break
            ids.append(int(step[0]))
            (text,) = self.postprocess([ids])
            if text.startswith(shown) and not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(shown) :]
                shown = text
        (text,) = self.postprocess([ids]) if ids else ("",)
        yield text[len(shown) :]

    def scores(self, raw: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Give the log-probability of a target text for each input (forced decoding).

        The target of a model with an encoder is a whole answer with its end; that of a language model a continuation.

        Args:
            raw: texts, or names of files.
            targets: one for each input.

        Raises:
            ConfigError: If the model does not generate token by token, or has no tokenizer.
            InputError: If an input cannot be read, or there are not as many targets.
        """
        rows = self._target_rows(targets)
        if len(raw) != len(targets):
            raise InputError(f"{len(targets)} targets for {len(raw)} inputs: give one for each")
        found: list[float] = []
        for first in range(0, len(raw), BATCH):
            part = slice(first, first + BATCH)
            found += self._target_scores(self.inputs(list(raw[part])), rows[part])
        return found

    def scored(
        self, raw: Iterable[Any], target: str, skip: Callable[[Any, InputError], None] | None = None
    ) -> Iterator[tuple[Any, float]]:
        """Yield each input with the log-probability of one target text, see `scores`.

        Args:
            raw: texts, or names of files.
            target: the same for all.
            skip: called with inputs that cannot be read and their errors; by default the first such error is raised.

        Raises:
            ConfigError: If the model does not generate token by token, or has no tokenizer.
            InputError: If an input cannot be read.
        """
        rows = self._target_rows([target])
        for part, inputs in self.read(self._parts(raw), skip):
            yield from zip(part, self._target_scores(inputs, rows * len(part)), strict=True)

    def _target_rows(self, targets: Sequence[str]) -> list[list[int]]:
        """Give the ids of target texts, with their end where the model has an encoder."""
        self.check_generates()
        if not hasattr(self.model, "target_scores"):
            raise ConfigError(f"target scores with '{self.model.spec.name}', which generates all tokens at once")
        end = [] if self.model.encoder is None else [self.model.symbols.eos]
        return [[*row, *end] for row in self._tokenizer.rows(targets)]

    def _target_scores(self, inputs: tuple[Any, ...], rows: list[list[int]]) -> list[float]:
        return self.model.target_scores(*inputs, target=rows).scores[:, 0].tolist()

    @property
    def _tokenizer(self) -> Any:
        found = getattr(self.postprocess, "tokenizer", None)
        if found is None:
            raise ConfigError(f"'{self.spec.name}' writes its answers without a tokenizer")
        return found

    def _with_stop(self, options: dict[str, Any]) -> dict[str, Any]:
        """Make a stopping criterion of strings."""
        from zoo.core import StopStrings

        stop = options.get("stop")
        if not isinstance(stop, str | list | tuple):
            return options
        return options | {"stop": StopStrings(stop, self._tokenizer.decode_batch)}

    def check_generates(self) -> None:
        """Check that the model generates, before weights are loaded.

        Raises:
            ConfigError: If it does not.
        """
        if self.spec.task != "generate":
            raise ConfigError(f"{self.name!r} is a '{self.spec.name}', which does not generate: use zoo predict")

    def _predict(
        self, raw: Iterable[Any], skip: Callable[[Any, InputError], None] | None, masks: int | None
    ) -> Iterator[tuple[Any, Any]]:
        for part, inputs in self.read(self._parts(raw), skip):
            yield from zip(part, self._answered(part, inputs, masks), strict=True)

    def _parts(self, raw: Iterable[Any]) -> Iterator[list[Any]]:
        lines = iter(raw)
        return iter(lambda: list(islice(lines, self.batch_size)), [])

    def _answered(self, part: list[Any], inputs: tuple[Any, ...], masks: int | None = None) -> list[Any]:
        import torch

        with torch.no_grad():
            output = self.model(*inputs).cpu()
        batch = getattr(self.postprocess, "batch_of", None)  # where inputs are packed: the input of each vector
        answers = list(self.postprocess(output, batch(*inputs) if batch else part))
        if masks is None or self.spec.task != "masked-token":
            return answers
        found = self.postprocess.candidates(output, part, masks)
        return [Filled(text, each) for text, each in zip(answers, found, strict=True)]


def prepared(preprocess: Any, raw: Any) -> Any:
    """Prepare a raw input, or several together.

    Raises:
        InputError: If one cannot be read.
    """
    try:
        return preprocess(raw)
    except IsADirectoryError as error:
        name = str(error.filename)
        raise InputError(f"{name!r} is a folder: give the files in it, such as {os.path.join(name, '*')}") from error
    except OSError as error:  # of a file that is named
        why = f"there is no file {str(error.filename)!r}" if isinstance(error, FileNotFoundError) else error
        raise InputError(f"an input cannot be read: {why}") from error


class _Reader:
    """Reads raw inputs, here or in a worker.

    Args:
        preprocess: prepares them.
        skips: whether inputs that cannot be read are answered with their errors.
    """

    def __init__(self, preprocess: Any, skips: bool = False) -> None:
        self.preprocess, self.skips = preprocess, skips

    def read(self, part: Any) -> list[tuple[Any, Any]]:
        """Give raw inputs with what is made of them: together, or one by one where one of them cannot be read."""
        try:
            return [(part, prepared(self.preprocess, part))]
        except InputError as error:
            if not self.skips:
                raise
            if isinstance(part, str) or len(part) == 1:
                return [(part, error)]
            return [found for line in part for found in self.read([line])]


class LabelProbabilities:
    """Postprocessing of classifiers that name none: each label's probability; they add up to 1 unless any may be right.

    Args:
        spec: of the model; beside its weights lies `labels.json`, a list of names.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self.multi_label = spec.task == "multi-label"
        where = next(iter(spec.weights.values()), "")
        path = hub.fetch(where, ("labels.json",)) if where else None
        try:
            self.names = json.loads(path.read_text(encoding="utf-8")) if path else []
        except ValueError as error:
            raise WeightsError(f"{str(path)!r} cannot be read: {error}") from error

    def __call__(self, output: Any, inputs: Any = None) -> list[dict[str, float]]:
        """Return the probability of each label by its name."""
        names = self.names or [str(place) for place in range(output.shape[-1])]
        if output.ndim != 2 or len(names) != output.shape[-1]:
            raise WeightsError(f"labels.json names {len(names)} labels, the answers are {tuple(output.shape)}")
        scores = output.float()
        shares = scores.sigmoid() if self.multi_label else scores.softmax(-1)
        return [dict(zip(names, row, strict=True)) for row in shares.tolist()]


def reference(text: str) -> str:
    """Return the name by which `zoo.create` finds a checkpoint.

    Args:
        text: a folder, `hf-hub:org/name`, or the name of a model.

    Raises:
        WeightsError: If a path holds no checkpoint.
    """
    if hub.is_repository(text):
        return text
    path = Path(text).expanduser()
    if path.is_dir():
        if not (path / "config.json").exists():
            begun = (path / "training.json").exists()
            why = " (its training has not come to the first validation yet)" if begun else ""
            raise WeightsError(f"{text!r} holds no checkpoint: there is no config.json{why}; zoo train --out makes one")
        return f"local-dir:{text}"
    if path.exists():
        raise WeightsError(f"{text!r} is a file: give the folder that holds config.json and model.safetensors")
    if "/" in text or text.startswith((".", "~")):
        raise WeightsError(f"there is no folder {text!r}")
    try:
        create.info(text)
    except UnknownModelError as error:
        raise UnknownModelError(f"There is no folder {text!r}, and no model.\n{error}") from error
    return text
