"""Subsets of the training examples, for learning curves on any corpus."""

import warnings
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from zoo.core.losses.loss import IGNORED
from zoo.data.corpus import Corpus
from zoo.data.corpus_options import with_options
from zoo.errors import DataError
from zoo.names import counted


class Reference(NamedTuple):
    """Draw a line in the figure: a score and what reaches it."""

    accuracy: float
    meaning: str


@dataclass(frozen=True, kw_only=True)
class StudyInfo:
    """Describe a corpus for a learning curve.

    Args:
        fingerprint: of the examples; it names the runs in the results.
        limit: training examples there are; None for as many as asked for.
        best: the best value of the metric.
        num_classes: of a classification; 0 for other tasks.
        reference: a line for the figure.
        notes: what the user has to know, such as files that could not be read.
        shared: whether the corpus is the same for every model that reads it.
        batch_size: of validation and test; that of the training if None.
        chance: test accuracy of always answering the largest class, where it is known without reading the examples.
    """

    fingerprint: str
    limit: int | None
    best: float = 1.0
    num_classes: int = 0
    reference: Reference | None = None
    notes: tuple[str, ...] = ()
    shared: bool = False
    batch_size: int | None = None
    chance: float | None = None


@runtime_checkable
class DrawsSubsets(Protocol):
    """A corpus with subsets of its own, such as one that makes examples when they are asked for."""

    def study_info(self) -> StudyInfo:
        """Describe it."""

    def subset(self, count: int, seed: int, augment: bool) -> Corpus:
        """Give the same data with fewer training examples; of one seed, fewer are the beginning of more."""


class Chosen:
    """Hold some of the training examples of a corpus; all else is as the corpus has it.

    Args:
        corpus: any.
        index: of the training examples.
        name: of the choice, for the fingerprint.
    """

    def __init__(self, corpus: Corpus, index: Int[Tensor, " n"], name: str) -> None:
        self.corpus = corpus
        self.kept = torch.zeros(corpus.sizes["train"], dtype=torch.bool).index_fill(0, index, True)
        self.sizes = {**corpus.sizes, "train": len(index)}
        self.fingerprint = f"{corpus.fingerprint}-{name}"

    def __getattr__(self, name: str) -> Any:
        """Give what the corpus has; `copy` and `pickle` ask for special methods before there is a corpus."""
        if name == "corpus" or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.corpus, name)

    def with_augmentation(self, names: str) -> "Chosen":
        """See `AugmentsByName.with_augmentation`: that of the corpus."""
        return self._of(with_options(self.corpus, augment=names))

    def with_cache(self, wanted: bool) -> "Chosen":
        """See `CachesDecoded.with_cache`: that of the corpus."""
        return self._of(with_options(self.corpus, cache=wanted))

    def _of(self, corpus: Corpus) -> "Chosen":
        """Give the same examples of a corpus with other options."""
        other = copy(self)
        other.corpus = corpus
        return other

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Int[Tensor, " b"]]:
        """Give index batches of what is kept, of nearly equal length where those of the corpus are."""
        wider = round(batch_size * len(self.kept) / self.sizes["train"])
        batches = self.corpus.epoch(generator, wider)
        return torch.cat([batch[self.kept[batch]] for batch in batches]).split(batch_size)


class Subset(Chosen):
    """Hold some of the training examples of a corpus, drawn at random.

    Args:
        corpus: any.
        count: of the training examples.
        seed: draws them; of one seed, fewer are the beginning of more.

    Raises:
        DataError: If the corpus has fewer.
    """

    def __init__(self, corpus: Corpus, count: int, seed: int) -> None:
        total = corpus.sizes["train"]
        if not 0 < count <= total:
            raise DataError(f"{counted(count, 'training example')} asked for, {corpus.name!r} has {total:,}")
        order = torch.randperm(total, generator=torch.Generator().manual_seed(seed))
        super().__init__(corpus, order[:count], f"{count}-{seed}")


def nested(corpus: Corpus) -> list[Corpus]:
    """List a corpus and those within it, which evaluate its models: that of a `Subset`, and of a wrapper like it."""
    found = [corpus]
    while (inner := getattr(found[-1], "corpus", None)) is not None and inner is not found[-1]:
        found.append(inner)
    return found


def subset(corpus: Corpus, count: int, seed: int, augment: bool = False) -> Corpus:
    """Give a corpus with fewer training examples.

    Args:
        corpus: any.
        count: of the training examples.
        seed: draws them; of one seed, fewer are the beginning of more.
        augment: whether they are changed at random, where the corpus leaves the choice.
    """
    return corpus.subset(count, seed, augment) if isinstance(corpus, DrawsSubsets) else cast(
        Corpus, Subset(corpus, count, seed)
    )  # fmt: skip


def study_info(corpus: Corpus) -> StudyInfo:
    """Describe a corpus for a learning curve."""
    if isinstance(corpus, DrawsSubsets):
        return corpus.study_info()
    classifies = corpus.task == "classify" and corpus.metric == "accuracy"
    return StudyInfo(
        fingerprint=corpus.fingerprint,
        limit=corpus.sizes["train"],
        best=0.0 if corpus.metric.startswith("-") else getattr(corpus, "best", 1.0),
        num_classes=corpus.overrides().get("num_classes", 0) if classifies else 0,
    )


def chance_accuracy(corpus: Corpus, batch_size: int = 256) -> float | None:
    """Give the test accuracy of always answering the largest class; None where the metric is no accuracy."""
    if corpus.metric != "accuracy":
        return None
    if isinstance(corpus, DrawsSubsets) and (known := corpus.study_info().chance) is not None:
        return known
    targets = [batch.target[batch.target != IGNORED] for batch in corpus.held_out("test", batch_size)]
    counts = torch.cat(targets).bincount()
    return int(counts.max()) / int(counts.sum())


def notes_of(corpus: Corpus) -> tuple[str, ...]:
    """Give what the user has to know of a corpus."""
    return corpus.study_info().notes if isinstance(corpus, DrawsSubsets) else tuple(getattr(corpus, "notes", ()))


def warn_of_notes(corpus: Corpus, told: Collection[str] = ()) -> tuple[str, ...]:
    """Warn of what the user has to know of a corpus, where nothing else tells it, as the report of a study does.

    Args:
        corpus: any.
        told: notes of which the user was warned before.

    Returns: the notes, those told before included.
    """
    notes = notes_of(corpus)
    for note in notes:
        if note not in told:
            warnings.warn(f"{corpus.name}: {note}", stacklevel=3)
    return notes
