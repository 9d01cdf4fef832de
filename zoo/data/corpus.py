"""`Corpus`: the data of a training or a study; `open_corpus` finds and opens what `--data` names."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from zoo.errors import ConfigError, DataError
from zoo.names import did_you_mean
from zoo.registry import entry_loading
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, SourceSpec


class Batch(NamedTuple):
    """Model inputs and the target of the loss, -100 where it is ignored."""

    inputs: tuple[Any, ...]
    target: Tensor


@runtime_checkable
class Corpus(Protocol):
    """Data with a train, a validation and a test split, their task, loss and metric.

    `batch` and `held_out` are pure: they follow from their arguments alone, so that any process may make any batch.
    Three attributes are optional: `reads_files`, whether batches are read from files when they are needed; `cacheable`,
    whether `--cache` would keep them as they are after decoding; and `mixes_inputs`, whether `with_augmentation` takes
    `mixup:ALPHA`, which mixes examples.
    """

    @property
    def name(self) -> str:
        """Name it."""

    @property
    def description(self) -> str:
        """Say in a sentence what the data are."""

    @property
    def fingerprint(self) -> str:
        """Give a text that changes when the data do."""

    @property
    def task(self) -> str:
        """Name the task: `classify`, `multi-label`, `tag`, `generate` or `masked-token`."""

    @property
    def metric(self) -> str:
        """Name the score that chooses the checkpoint; higher is better."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Count the examples of `train`, `validation` and `test`."""

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create` that fit a model to the data."""

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """Give the index batches of one epoch, each example once; all of the order comes from the generator."""

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """Give training examples, augmented at random where that is known to be harmless."""

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Give the examples of `validation` or `test` as they are."""

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """Give the mean loss over the targets that are not ignored."""

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Evaluate a model that is in evaluation mode; the metric comes first."""

    def save(self, folder: Path) -> None:
        """Save what predictions need besides the model: vocabulary, names of labels."""


@runtime_checkable
class Streamed(Protocol):
    """What an `entry` gives in place of a table, where the rows come one after another."""

    def corpus(self, adapt: Any, spec: ModelSpec, seed: int, tokenizer: str) -> Corpus:
        """Make a corpus of windows of it, each a table that `adapt` makes one of."""


def open_corpus(text: str, spec: ModelSpec, seed: int = 0, tokenizer: str = "") -> Corpus:
    """Open what `--data` names, for a model.

    Args:
        text: a source, `name` or `name:argument`, or a path whose kind is guessed: a file by its ending, two files with
            a comma between, a folder of class folders.
        spec: of the model, with the overrides that were given.
        seed: splits the data.
        tokenizer: such as `byte`, `bpe:8000` or a path; empty for the source's own choice.

    Raises:
        DataError: If no source has the name, nothing is at the path, or the kind of a file cannot be guessed.
        ConfigError: If the data are of another modality than the model.
        MissingLibraryError: If a library the source needs is not installed.
    """
    source, argument = find_source(text, spec)
    if source.modality not in (spec.modality, ""):
        fitting = [each.name for each in registry().sources if each.modality in (spec.modality, "")]
        raise ConfigError(
            f"data {text!r} are of modality {source.modality!r}, and '{spec.name}' reads {spec.modality!r}"
            + (f": sources for it are {', '.join(fitting)}" if fitting else "")
        )
    corpus: Corpus
    if source.corpus:
        corpus = entry_loading.load(source, source.corpus)(argument, spec, seed, tokenizer)
    else:
        owner, adapter = _adapter(source, spec)
        adapt = entry_loading.load(owner, adapter)
        opened = entry_loading.load(source)(argument, seed)
        streamed = isinstance(opened, Streamed)
        corpus = opened.corpus(adapt, spec, seed, tokenizer) if streamed else adapt(opened, spec, seed, tokenizer)
    return corpus


def find_source(text: str, spec: ModelSpec) -> tuple[SourceSpec, str]:
    """Find a source by its name, or guess it from a path; give it with its argument.

    Raises:
        DataError: If neither succeeds, or a source lacks its argument.
    """
    sources = registry().sources
    text = _own_folders(text, spec)
    if sources.get(text.partition(":")[0]) or not _is_path(text):
        return _named(text)
    paths = text.partition("?")[0].split(",")
    for path in paths:
        if not Path(path).expanduser().exists():
            raise DataError(f"data {text!r}: there is no file or folder {path!r}")
    guesses = _guesses(paths, spec)
    if len(guesses) == 1:
        return guesses[0], text
    known = guesses or [each for each in sources if _reads_paths(each) and each.modality in (spec.modality, "")]
    raise DataError(
        f"data {text!r}: its kind cannot be guessed; write it in front, as SOURCE:{text}, "
        f"where SOURCE is one of {', '.join(map(sources.short, known)) or 'none that are known'}"
    )


def _adapter(source: SourceSpec, spec: ModelSpec) -> tuple[SourceSpec, str]:
    """Give what makes a corpus of a source that has only `entry`: the adapter of the modality, and whose it is."""
    if not source.entry:
        raise ConfigError(f"data source '{source.name}' has neither `corpus` nor `entry`")
    kind = "adapter" if source.modality else "tables"
    modality = source.modality or spec.modality
    for owner in registry().sources:
        if owner.modality == modality and (adapter := getattr(owner, kind)):
            return (source if source.modality else owner), adapter
    raise ConfigError(
        f"data source '{source.name}' of modality '{modality}' has no `corpus`, and no source of that "
        f"modality has {'an `adapter`' if kind == 'adapter' else '`tables`'} that makes one of its `entry`"
    )


def _is_path(text: str) -> bool:
    return any(mark in text for mark in ("/", "\\", ".", ",", "~")) or Path(text).exists()


def _own_folders(text: str, spec: ModelSpec) -> str:
    """Let `folder:PATH` name the source that reads folders for the model's modality, whatever its name."""
    name, _, rest = text.partition(":")
    named = registry().sources.get(name) if name == "folder" else None
    if name != "folder" or (named and named.modality == spec.modality):
        return text
    own = [each for each in registry().sources if each.folder and each.modality == spec.modality]
    own = [each for each in own if spec.task in each.tasks] or own
    return f"{registry().sources.short(own[0])}:{rest}" if len(own) == 1 else text


def _guesses(paths: list[str], spec: ModelSpec) -> list[SourceSpec]:
    """Find the sources that read a path: those of the model's modality first, then those that name its task.

    Sources of another modality are given where only one modality reads such a path, for the error that names it.
    """
    reading = [each for each in registry().sources if _reads(each, paths)]
    own = [each for each in reading if each.modality == spec.modality]
    fitting = [each for each in own if spec.task in (each.tasks or (spec.task,))]
    own = fitting or [each for each in reading if not each.modality] or own or reading
    named = [each for each in own if spec.task in each.tasks] or own
    return named if {spec.modality, ""} & {each.modality for each in named} or len(named) == 1 else []


def _reads(source: SourceSpec, paths: list[str]) -> bool:
    if len(paths) == 2:
        return source.pair
    path = Path(paths[0]).expanduser()
    return source.folder if path.is_dir() else path.name.lower().endswith(source.reads)


def _reads_paths(source: SourceSpec) -> bool:
    return bool(source.reads) or source.folder or source.pair


def _named(text: str) -> tuple[SourceSpec, str]:
    source, argument = registry().sources.split(text)
    if argument and not source.takes:
        raise DataError(f"data source {text!r}: write {source.name!r}, it takes no argument after a colon")
    if not argument and source.takes and not source.takes.startswith("["):
        raise DataError(f"data source {text!r}: write '{source.name}:{source.takes}'")
    return source, argument


def check_task(corpus: Corpus, spec: ModelSpec) -> None:
    """Check that a model does the task of the data.

    Raises:
        ConfigError: If it does not.
    """
    if corpus.task not in (spec.task, *spec.tasks):
        raise ConfigError(
            f"data '{corpus.name}' have task '{corpus.task}', and the tasks of '{spec.name}' are "
            f"{', '.join(spec.tasks)}.{did_you_mean(corpus.task, spec.tasks)}"
        )
