"""`Mixture`: several corpora mixed by weight; the source `mix:0.7=lines:a.txt,0.3=lines:b.txt`."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from zoo.data.batches.packed import packed_batch, unpacked
from zoo.data.cache import cached_file
from zoo.data.corpus import Batch, Corpus, open_corpus
from zoo.data.corpus_options import mixes_inputs, with_options
from zoo.data.splits import fingerprint
from zoo.data.subsets import StudyInfo, notes_of, study_info, subset
from zoo.errors import ConfigError, DataError
from zoo.spec import ModelSpec

_WEIGHT = re.compile(r"(?:^|,)(\d+\.?\d*|\.\d+)=")
"""What stands before a source. A comma between two paths has none behind it."""


class Mixture:
    """Corpora whose training examples are mixed by weight, each batch of one of them; all else is as the first has it.

    An epoch has as many batches as those of all corpora together. One whose weight is above its share of them is read
    several times in it, one whose weight is below in part, each time another.

    Args:
        corpora: of one task, with the same labels and vocabulary; validation and test are those of the first.
        weights: of the corpora, above 0; their sum stands for all batches.

    Raises:
        DataError: If the corpora do not fit one model.
    """

    def __init__(self, corpora: Sequence[Corpus], weights: Sequence[float]) -> None:
        self.corpora = [corpora[0], *(prepared_as(each, corpora[0]) for each in corpora[1:])]
        self.weights = list(weights)
        self.corpus = corpora[0]
        """Whose validation and test are evaluated."""
        self.name = "mix:" + ",".join(f"{weight:g}={each.name}" for weight, each in zip(weights, corpora, strict=True))
        self.description = " ".join(each.description for each in corpora)
        self.fingerprint = fingerprint([*(each.fingerprint for each in corpora), *map(str, weights)])
        self.ends = torch.tensor([each.sizes["train"] for each in corpora]).cumsum(0)
        self.sizes = {**self.corpus.sizes, "train": int(self.ends[-1])}

    def __getattr__(self, name: str) -> Any:
        """Give what the first corpus has; `copy` and `pickle` ask for special methods before there is one."""
        if name in ("corpus", "corpora") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.corpus, name)

    @property
    def reads_files(self) -> bool:
        """Whether a corpus reads files when batches are needed."""
        return any(getattr(each, "reads_files", False) for each in self.corpora)

    @property
    def cacheable(self) -> bool:
        """Whether `--cache` would keep examples of a corpus after decoding."""
        return any(getattr(each, "cacheable", False) for each in self.corpora)

    @property
    def mixes_inputs(self) -> bool:
        """Whether all corpora mix their examples by the augmentation `mixup`."""
        return all(mixes_inputs(each) for each in self.corpora)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Int[Tensor, " b"]]:
        """Give index batches, of each corpus as many as its weight says, in random order.

        A part of a batch is one batch in as many epochs, so that a small weight is not none.
        """
        begins = [0, *self.ends[:-1].tolist()]
        found = [[*each.epoch(generator, batch_size)] for each in self.corpora]
        counts = _shares(self.weights, sum(map(len, found)), float(torch.rand((), generator=generator)))
        for each, batches, count in zip(self.corpora, found, counts, strict=True):
            while len(batches) < count:
                batches += each.epoch(generator, batch_size)
        chosen = [
            batch + begin
            for begin, batches, count in zip(begins, found, counts, strict=True)
            for batch in batches[:count]
        ]
        return [chosen[place] for place in torch.randperm(len(chosen), generator=generator).tolist()]

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give a batch of the corpus that it is of."""
        return unpacked(self.packed_batch(index, generator))

    def packed_batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give a batch, packed where the corpus that it is of can do so."""
        owner = int(torch.bucketize(index[0], self.ends, right=True))
        return packed_batch(self.corpora[owner], index - (self.ends[owner - 1] if owner else 0), generator)

    def with_augmentation(self, names: str) -> "Mixture":
        """See `AugmentsByName.with_augmentation`: that of all corpora."""
        return Mixture([with_options(each, augment=names) for each in self.corpora], self.weights)

    def with_cache(self, wanted: bool) -> "Mixture":
        """See `CachesDecoded.with_cache`: of all corpora."""
        return Mixture([with_options(each, cache=wanted) for each in self.corpora], self.weights)

    def study_info(self) -> StudyInfo:
        """See `DrawsSubsets.study_info`: as many examples as there are of each corpus by its weight, and all notes."""
        shares = [weight / sum(self.weights) for weight in self.weights]
        limit = min(int(each.sizes["train"] / share) for each, share in zip(self.corpora, shares, strict=True))
        notes = tuple(f"{each.name}: {note}" for each in self.corpora for note in notes_of(each))
        return replace(study_info(self.corpus), fingerprint=self.fingerprint, limit=limit, notes=notes)

    def subset(self, count: int, seed: int, augment: bool) -> "Mixture":
        """See `DrawsSubsets.subset`: of each corpus as many examples as its weight says."""
        counts = _shares(self.weights, count)
        counts = [min(max(1, own), each.sizes["train"]) for own, each in zip(counts, self.corpora, strict=True)]
        kept = [subset(each, own, seed, augment) for each, own in zip(self.corpora, counts, strict=True)]
        return Mixture(kept, self.weights)


def open_mixture(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> Mixture:
    """Open sources, each with its weight; a vocabulary that is learned is that of the first.

    Raises:
        DataError: If a weight lacks or is 0, or the sources do not fit one model.
    """
    before, *pieces = _WEIGHT.split(argument)
    weights, names = [float(weight) for weight in pieces[::2]], pieces[1::2]
    nested = [name for name in names if name.startswith("mix:")]
    if before or not names or not all(weights) or not all(names) or nested:
        raise DataError(f"mix:{argument}: write WEIGHT=SOURCE,WEIGHT=SOURCE, such as 0.7=lines:a.txt,0.3=lines:b.txt")
    corpora = [open_corpus(names[0], spec, seed, tokenizer)]
    learned: Any = getattr(corpora[0], "tokenizer", None)
    if learned is not None and len(names) > 1:
        key = fingerprint([corpora[0].fingerprint, tokenizer, spec.name])
        tokenizer = str(cached_file(f"tokenizers/{key}.json", learned.save))
    for name in names[1:]:
        corpora.append(open_corpus(name, spec, seed, tokenizer))
    return Mixture(corpora, weights)


@runtime_checkable
class PreparesAs(Protocol):
    """A corpus that can prepare its examples by what was measured on another one, such as a mean."""

    def prepared_as(self, other: Corpus) -> Corpus:
        """Give the same data, prepared as another corpus is."""


def prepared_as(corpus: Corpus, first: Corpus) -> Corpus:
    """Prepare a corpus as the first is, by what was measured on that.

    Raises:
        DataError: If they have other tasks or labels.
        ConfigError: If they do not fit one model.
    """
    _check_same_task(first, corpus)
    prepared = corpus.prepared_as(first) if isinstance(corpus, PreparesAs) else corpus
    _check_same_model(first, prepared)
    return prepared


def _check_same_task(first: Corpus, other: Corpus) -> None:
    if first.task != other.task:
        raise DataError(f"{first.name!r} have task {first.task!r}, and {other.name!r} {other.task!r}: mix one task")
    labels, own = (list(getattr(each, "labels", ())) for each in (first, other))
    if labels != own:
        strange = sorted({*labels} ^ {*own})
        raise DataError(
            f"{first.name!r} and {other.name!r} have other labels ({', '.join(strange[:5]) or 'in another order'}): "
            "what is mixed has the same"
        )


def _check_same_model(first: Corpus, other: Corpus) -> None:
    one, two = first.overrides(), other.overrides()
    for key in sorted({*one, *two}):
        if one.get(key) != two.get(key):
            raise ConfigError(
                f"{first.name!r} wants {key}={one.get(key)}, and {other.name!r} {key}={two.get(key)}: what is mixed "
                "fits one model"
            )


def _shares(weights: Sequence[float], total: int, offset: float = 0.5) -> list[int]:
    """Part a number by weights, to whole numbers of that sum.

    Args:
        weights: of the parts.
        total: the number.
        offset: in [0, 1); over uniform ones, the mean of each part is exact (systematic sampling). 0.5 rounds.
    """
    ends = [0.0]
    for weight in weights:
        ends.append(ends[-1] + weight)
    places = [0, *(math.floor(total * end / ends[-1] + offset) for end in ends[1:-1]), total]
    return [after - before for before, after in pairwise(places)]
