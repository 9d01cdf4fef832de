"""What a training asks of its data, and how `--data` finds it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from zoo.errors import ConfigError, DataError
from zoo.names import did_you_mean
from zoo.registry import entry_loading as entries
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, SourceSpec


class Batch(NamedTuple):
    """Hold model inputs and the target of the loss, -100 where nothing is asked."""

    inputs: tuple[Any, ...]
    target: Tensor


@runtime_checkable
class Corpus(Protocol):
    """Give examples for training, validation and test, what is asked of them, and how answers are judged."""

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
        """Say what is asked: `classify`, `tag`, `generate` or `masked-token`."""

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
        """Give the mean loss over what is asked."""

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Judge a model that is in evaluation; the metric comes first."""

    def save(self, folder: Path) -> None:
        """Save what predictions need besides the model: vocabulary, names of labels."""


TABLES = (".tsv", ".csv", ".jsonl", ".json")
"""Files of pairs for models that write, of texts with labels for the others."""
FOLDERS = {"vision": "folder", "speech": "recordings", "graph": "graphs"}
"""Modality to the source that reads folders of its kind, also where it is called `folder`."""
GUESSES = {".conll": "tagged", ".conllu": "tagged", ".iob": "tagged", ".txt": "lines", ".npz": "npz"}
"""Ending of a file to the source that reads it."""


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
        ConfigError: If the data are of another modality than the model, or are for studies only.
        MissingLibraryError: If a library the source needs is not installed.
    """
    source, argument = find_source(text, spec)
    if source.modality != spec.modality:
        fitting = [each.name for each in registry().sources if each.modality == spec.modality]
        raise ConfigError(
            f"data {text!r} are of modality {source.modality!r}, and '{spec.name}' reads {spec.modality!r}"
            + (f": sources for it are {', '.join(fitting)}" if fitting else "")
        )
    if source.corpus:
        corpus: Corpus = entries.load(source, source.corpus)(argument, spec, seed, tokenizer)
        return corpus
    if tokenizer:
        raise ConfigError(f"tokenizer={tokenizer!r} with data {text!r}, which hold no text")
    adapted: Corpus = entries.load(source, _adapter(source))(text_of(source, argument), spec, seed)
    return adapted


def find_source(text: str, spec: ModelSpec) -> tuple[SourceSpec, str]:
    """Find a source by its name, or guess it from a path; give it with its argument.

    Raises:
        DataError: If neither succeeds, or a source lacks its argument.
    """
    sources = registry().sources
    name, _, rest = text.partition(":")
    if name == FOLDERS["vision"] and spec.modality in FOLDERS:
        text = f"{FOLDERS[spec.modality]}:{rest}"
    if sources.get(text.partition(":")[0]) or not _is_path(text):
        return _named(text)
    paths = text.partition("?")[0].split(",")
    for path in paths:
        if not Path(path).expanduser().exists():
            raise DataError(f"data {text!r}: there is no file or folder {path!r}")
    if guess := sources.get(_guess(paths, spec)):
        return guess, text
    known = [source.name for source in sources if source.takes and source.modality == spec.modality]
    raise DataError(
        f"data {text!r}: its kind cannot be guessed; write it in front, as SOURCE:{text}, "
        f"where SOURCE is one of {', '.join(known) or 'none that are known'}"
    )


def _adapter(source: SourceSpec) -> str:
    """Give the entry that makes a corpus of a source of studies, from any plugin of its modality."""
    for each in registry().sources:
        if each.adapter and each.modality == source.modality:
            return each.adapter
    raise ConfigError(
        f"data source '{source.name}' is for studies: it has no `corpus`, and no plugin has an `adapter` for "
        f"sources of modality {source.modality!r}"
    )


def _is_path(text: str) -> bool:
    return any(mark in text for mark in ("/", "\\", ".", ",", "~")) or Path(text).exists()


def _guess(paths: list[str], spec: ModelSpec) -> str:
    """Name the source that may read a path, or nothing."""
    first, ending = Path(paths[0]).expanduser(), Path(paths[0]).suffix.lower()
    if len(paths) == 2:
        return "parallel"
    if first.is_dir():
        return FOLDERS.get(spec.modality, "parallel")
    if spec.modality == "speech":
        return FOLDERS["speech"] if ending in (".jsonl", ".json") else ""
    if spec.modality == "graph":
        return FOLDERS["graph"] if ending in TABLES else ""
    if ending in TABLES:
        return "parallel" if spec.task == "generate" else "labelled"
    return GUESSES.get(ending, "")


def text_of(source: SourceSpec, argument: str) -> str:
    """Write a source as `name:argument`."""
    return f"{source.plugin}:{source.name}" + (f":{argument}" if argument else "")


def _named(text: str) -> tuple[SourceSpec, str]:
    source, argument = registry().sources.split(text)
    if argument and not source.takes:
        raise DataError(f"data source {text!r}: write {source.name!r}, it takes nothing behind a colon")
    if not argument and source.takes and not source.takes.startswith("["):
        raise DataError(f"data source {text!r}: write '{source.name}:{source.takes}'")
    return source, argument


def refuse_task(corpus: Corpus, spec: ModelSpec) -> None:
    """Refuse data that ask what a model cannot answer.

    Raises:
        ConfigError: If they do.
    """
    if corpus.task not in (spec.task, *spec.tasks):
        raise ConfigError(
            f"data '{corpus.name}' ask for task '{corpus.task}', and '{spec.name}' does "
            f"{', '.join(spec.tasks)}.{did_you_mean(corpus.task, spec.tasks)}"
        )
