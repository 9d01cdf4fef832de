"""`StreamCorpus`: a corpus of a table that is streamed; each window of rows is a corpus of its own."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from zoo.data.cache import cached_file
from zoo.data.corpus import Batch, Corpus
from zoo.data.corpus_options import with_options
from zoo.data.mixture import prepared_as
from zoo.data.splits import fingerprint
from zoo.data.subsets import StudyInfo, study_info
from zoo.data.tables.table import Table
from zoo.errors import ConfigError, DataError
from zoo.spec import ModelSpec

Adapt = Callable[[Table, ModelSpec, int, str], Corpus]
"""Makes a corpus of a table, for a model, with a seed and a tokenizer; see `SourceSpec.tables`."""


@runtime_checkable
class Windows(Protocol):
    """Rows of a stream in windows; see `TableStream`."""

    @property
    def name(self) -> str:
        """Name of the data."""

    @property
    def fingerprint(self) -> str:
        """Text that changes when the data or how they are read do."""

    @property
    def window(self) -> int:
        """Rows of a window."""

    def __len__(self) -> int:
        """Count the rows for training."""

    def first(self) -> Table:
        """Give the first window, with validation and test where they are given."""

    def table(self, number: int, labels: tuple[str, ...]) -> Table:
        """Give a window."""


class StreamCorpus:
    """Training examples of a stream, in its order but for a shuffle within each window; all else is of the first one.

    Labels, a vocabulary, mean and deviation are those of the first window, and so are validation and test, where they
    are not given. An epoch is a pass of the stream: window by window, the batches of one after those of another.

    Args:
        stream: of rows.
        adapt: makes a corpus of a window.
        spec: of the model.
        seed: of the split.
        tokenizer: as for `open_corpus`.

    Raises:
        DataError: If the first window is no corpus.
    """

    def __init__(self, stream: Windows, adapt: Adapt, spec: ModelSpec, seed: int, tokenizer: str) -> None:
        self.stream, self.adapt, self.spec, self.seed = stream, adapt, spec, seed
        self.corpus: Any = adapt(stream.first(), spec, seed, tokenizer)
        """That of the first window, whose validation and test are evaluated."""
        self.name = stream.name
        self.fingerprint = fingerprint([stream.fingerprint, self.corpus.fingerprint])
        self.description = f"`{self.name}` streams {len(stream):,} examples. Of the first: {self.corpus.description}"
        self.tokenizer_path = self._learned(tokenizer)
        self.augment: str | None = None
        rest = range(stream.window, len(stream), stream.window)
        later = [min(stream.window, len(stream) - first) for first in rest]
        self.counts = torch.tensor([self.corpus.sizes["train"], *later])
        """Training examples of each window."""
        self.ends = self.counts.cumsum(0)
        self.sizes = {**self.corpus.sizes, "train": int(self.ends[-1])}
        self._opened: tuple[int, Any] = (0, self.corpus)

    def __getattr__(self, name: str) -> Any:
        """Give what the corpus of the first window has; `copy` and `pickle` ask before there is one."""
        if name in ("corpus", "stream") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.corpus, name)

    reads_files = True
    """Batches are read when they are needed."""
    cacheable = False
    """Nothing is kept of a stream."""

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Int[Tensor, " b"]]:
        """Give index batches, those of each window in random order.

        Raises:
            DataError: If there are fewer examples than a batch has.
        """
        if self.sizes["train"] < batch_size:
            raise DataError(
                f"{self.name} has {self.sizes['train']:,} examples to train on, fewer than a batch of {batch_size}: "
                "set --batch-size, or leave ?streaming away"
            )
        return _WindowBatches(self.counts, self.ends, batch_size, generator)

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give a batch, all of one window."""
        number = int(torch.bucketize(index[0], self.ends, right=True))
        corpus, total = self._window(number), int(self.counts[number])
        places = index - (self.ends[number] - total)
        examples = corpus.sizes["train"]
        if examples != total:  # texts in several pieces, or rows without an example: so many of them
            drawn = torch.rand(len(places), generator=generator, dtype=torch.float64)
            places = ((places + drawn) * examples / total).long().clamp(max=examples - 1)
        return corpus.batch(places, generator)

    def with_augmentation(self, names: str) -> "StreamCorpus":
        """See `AugmentsByName.with_augmentation`: that of all windows."""
        other = self._of(with_options(self.corpus, augment=names))
        other.augment = names
        return other

    def with_cache(self, wanted: bool) -> "StreamCorpus":
        """See `CachesDecoded.with_cache`: a stream has none.

        Raises:
            ConfigError: If one is wanted.
        """
        if wanted:
            raise ConfigError(f"cache={wanted}: nothing is kept of {self.name}: leave ?streaming away, or the cache")
        return self

    def prepared_as(self, other: Corpus) -> "StreamCorpus":
        """See `PreparesAs.prepared_as`."""
        return self._of(prepared_as(self.corpus, other))

    def study_info(self) -> StudyInfo:
        """See `DrawsSubsets.study_info`: that of the first window."""
        return study_info(self.corpus)

    def subset(self, count: int, seed: int, augment: bool) -> Corpus:
        """See `DrawsSubsets.subset`: a stream has none.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{self.name}: a study draws subsets, and a stream has none: leave ?streaming away")

    def _of(self, corpus: Corpus) -> "StreamCorpus":
        """Give the same stream with another corpus of the first window."""
        other = copy(self)
        other.corpus, other._opened = corpus, (0, corpus)
        return other

    def _window(self, number: int) -> Any:
        """Open a window, if it is not the one before."""
        if self._opened[0] != number:
            corpus = self.corpus
            if number:
                table = self.stream.table(number, tuple(getattr(corpus, "labels", ())))
                corpus = self.adapt(table, self.spec, self.seed, self.tokenizer_path)
                corpus = with_options(prepared_as(corpus, self.corpus), augment=self.augment)
            self._opened = number, corpus
        return self._opened[1]

    def _learned(self, tokenizer: str) -> str:
        """Give the path of the tokenizer that the first window has."""
        learned = getattr(self.corpus, "tokenizer", None)
        if learned is None:
            return tokenizer
        return str(cached_file(f"tokenizers/{fingerprint([self.fingerprint, tokenizer])}.json", learned.save))


class _WindowBatches(Sequence[Int[Tensor, " b"]]):
    """Index batches of an epoch, made when they are asked for."""

    def __init__(self, counts: Tensor, ends: Tensor, batch_size: int, generator: torch.Generator) -> None:
        self._counts, self._ends, self._size = counts, ends, batch_size
        self._batches = (-(-counts // batch_size)).cumsum(0)
        self._key = int(torch.randint(2**62, (), generator=generator))

    def __len__(self) -> int:
        return int(self._batches[-1])

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        place = range(len(self))[place]
        window = int(torch.bucketize(torch.tensor(place), self._batches, right=True))
        count = int(self._counts[window])
        order = torch.randperm(count, generator=torch.Generator().manual_seed(self._key ^ window))
        first = (place - (int(self._batches[window - 1]) if window else 0)) * self._size
        return order[first : first + self._size] + (int(self._ends[window]) - count)
