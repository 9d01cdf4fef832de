"""`BatchedCorpus`: base class of corpora whose batches hold examples of nearly equal length (bucketing)."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.atomic_write import write_text
from zoo.core.losses.loss import cross_entropy
from zoo.data.batches.workers import read_ahead
from zoo.data.corpus import Batch
from zoo.data.items import Columns
from zoo.errors import ConfigError
from zoo.spec import ModelSpec

_POOL = 50
"""Batches whose examples are sorted together: long enough to fit, short enough to stay random."""
_SPLITS = ("train", "validation", "test")


class DatasetInfo(NamedTuple):
    """Name, description and fingerprint of a data set."""

    name: str
    description: str
    fingerprint: str


class SavedTokenizer(Protocol):
    """Tokenizer of a corpus: it has a vocabulary size, and is saved beside the model."""

    vocab_size: int

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tokenizer to a file."""


class BatchedCorpus(ABC):
    """Corpus with a train, a validation and a test split, batched by length; sub-classes make batches and score models.

    Args:
        about: the data.
        spec: of the model.
        lengths: of the examples of each split, in tokens or samples.
    """

    task: str
    metric: str
    tokenizer: SavedTokenizer | None = None
    """Of texts among the examples."""
    smooth: tuple[str, ...] = ()
    """Scores that choose the checkpoint where the metric is equal, before the loss and the perplexity."""
    columns: Columns | None = None
    """Of the user's table that the examples are from, where there is one."""
    best: float = 1.0
    """The best value of the metric; 0 where its name begins with a minus sign."""

    def __init__(self, about: DatasetInfo, spec: ModelSpec, lengths: Mapping[str, Tensor]) -> None:
        self.name, self.description, self.fingerprint = about
        self.spec = spec
        self.lengths = lengths
        self.sizes = {split: len(lengths[split]) for split in _SPLITS}
        self.labels: list[str] = []

    @abstractmethod
    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Collate examples of a split into a batch; with a generator, augmented as in training."""

    @abstractmethod
    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Evaluate a model on a split; the metric comes first."""

    @property
    def reads_files(self) -> bool:
        """Whether batches are read from files when they are needed, so that workers pay by default."""
        return False

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create` that fit a model to the data."""
        found: dict[str, Any] = {} if self.tokenizer is None else {"vocab_size": self.tokenizer.vocab_size}
        if self.spec.task != self.task:
            found["task"] = self.task
        if self.labels:
            found["num_classes"] = len(self.labels)
        return found

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give a batch of training examples."""
        return self.examples("train", index.tolist(), generator)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Int[Tensor, " b"]]:
        """Give the index batches of one epoch, each example once, those of a batch of nearly equal length.

        The examples are shuffled, those of every 50 batches sorted, and the batches shuffled.
        """
        order = torch.randperm(self.sizes["train"], generator=generator, dtype=torch.int32)
        lengths = self.lengths["train"]
        for pool in order.split(batch_size * _POOL):
            pool.copy_(pool[lengths[pool].argsort(stable=True)])
        return _Batches(order, batch_size, generator)

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Give the batches of a split, long examples first."""
        yield from read_ahead(self.examples, ((split, places, None) for places in self.places(split, batch_size)))

    def items(self, split: str, places: Sequence[int]) -> Batch:
        """See `GivesItems.items`."""
        return self.examples(split, places, None)

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """See `KnowsClasses.placed`."""
        return zip(self.places(split, batch_size), self.held_out(split, batch_size), strict=True)

    def places(self, split: str, batch_size: int) -> Iterator[list[int]]:
        """Give the indices of a split's examples in batches, long examples first.

        Each batch then fits into the memory that the one before gave back; growing ones would not, and the C library
        keeps what is between them.

        Raises:
            ConfigError: If there is no such split.
        """
        if split not in self.sizes:
            raise ConfigError(f"split={split!r} is not one of {', '.join(self.sizes)}")
        for places in reversed(self.lengths[split].argsort(stable=True).split(batch_size)):
            yield places.tolist()

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """Give the mean cross-entropy over the targets that are not ignored."""
        return cross_entropy(answer, target, smoothing)

    def save(self, folder: Path) -> None:
        """Save tokenizer.json and labels.json, where there are a tokenizer and labels."""
        if self.tokenizer is not None:
            self.tokenizer.save(folder / "tokenizer.json")
        if self.labels:
            text = json.dumps(self.labels, ensure_ascii=False, indent=1)
            write_text(folder / "labels.json", text + "\n")


class _Batches(Sequence[Int[Tensor, " b"]]):
    """Batches of an order, shuffled: slices that are made when they are asked for, of however many examples."""

    def __init__(self, order: Int[Tensor, " n"], batch_size: int, generator: torch.Generator) -> None:
        self._order, self._size = order, batch_size
        self._places = torch.randperm(-(-len(order) // batch_size), generator=generator)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        start = int(self._places[range(len(self))[place]]) * self._size
        return self._order[start : start + self._size]


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[torch.device]:
    """Put a model into evaluation mode without gradients and give its device; the mode is restored at the end."""
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    finally:
        model.train(was)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Move a batch to a device."""
    ahead = device.type == "cuda"  # from pinned memory, in the background
    inputs = tuple(each.to(device, non_blocking=ahead) if isinstance(each, Tensor) else each for each in batch.inputs)
    return Batch(inputs, batch.target.to(device, non_blocking=ahead))
