"""What the corpora of texts share: rows of ids, batches of nearly equal length, symbols, and what is saved."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.core.loss import cross_entropy
from zoo.core.symbols import SYMBOLS, Symbols
from zoo.errors import ConfigError, DataError
from zoo.plugins.text import vocabulary
from zoo.plugins.text.tokens import Tokenizer
from zoo.spec import ModelSpec
from zoo.training.corpus import Batch

_POOL = 50
"""Batches whose examples are sorted together: long enough to fit, short enough to stay random."""
_SPLITS = ("train", "validation", "test")


class About(NamedTuple):
    """Say what the data are."""

    name: str
    description: str
    fingerprint: str


class Rows:
    """Hold rows of ids one behind the other, four bytes an id.

    Args:
        rows: of ids.
    """

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self.lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        self.ends = self.lengths.cumsum(0).tolist()
        self.flat = torch.tensor([place for row in rows for place in row], dtype=torch.int32)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> list[int]:
        """Give a row."""
        end = self.ends[place]
        return self.flat[end - int(self.lengths[place]) : end].tolist()


class TextCorpus(ABC):
    """Serve examples of three parts as batches; what an example is, and how answers are judged, say the sub-classes.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts; it is saved beside the model.
        lengths: of the examples of each part, in tokens.
    """

    task: str
    metric: str

    def __init__(self, about: About, spec: ModelSpec, tokenizer: Tokenizer, lengths: Mapping[str, Tensor]) -> None:
        self.name, self.description, self.fingerprint = about
        self.spec = spec
        self.tokenizer = tokenizer
        self.lengths = lengths
        self.sizes = {split: len(lengths[split]) for split in _SPLITS}
        self.labels: list[str] = []

    @abstractmethod
    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Make a batch of some examples of a part; with a generator, as training sees them."""

    @abstractmethod
    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Judge a model; the metric comes first."""

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create` that fit a model to the data."""
        found: dict[str, Any] = {"vocab_size": self.tokenizer.vocab_size}
        if self.spec.task != self.task:
            found["task"] = self.task
        if self.labels:
            found["num_classes"] = len(self.labels)
        return found

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give training examples."""
        return self.examples("train", index.tolist(), generator)

    def epoch(self, generator: torch.Generator, batch_size: int) -> list[Int[Tensor, " b"]]:
        """Give the index batches of one epoch, each example once, those of a batch of nearly equal length.

        The examples are shuffled, those of every 50 batches sorted, and the batches shuffled.
        """
        order = torch.randperm(self.sizes["train"], generator=generator)
        pools = order.split(batch_size * _POOL)
        lengths = self.lengths["train"]
        batches = [batch for pool in pools for batch in pool[lengths[pool].argsort(stable=True)].split(batch_size)]
        return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Give the examples of a part, the short ones first."""
        for places in self.places(split, batch_size):
            yield self.examples(split, places, None)

    def places(self, split: str, batch_size: int) -> Iterator[list[int]]:
        """Give the places of a part's examples, the short ones first, in batches.

        Raises:
            ConfigError: If there is no such part.
        """
        if split not in self.sizes:
            raise ConfigError(f"split={split!r} is not one of {', '.join(self.sizes)}")
        for places in self.lengths[split].argsort(stable=True).split(batch_size):
            yield places.tolist()

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """Give the mean cross-entropy over what is asked."""
        return cross_entropy(answer, target, smoothing)

    def save(self, folder: Path) -> None:
        """Save the vocabulary, and the names of the labels where there are such."""
        self.tokenizer.save(folder / "tokenizer.json")
        if self.labels:
            text = json.dumps(self.labels, ensure_ascii=False, indent=1)
            (folder / "labels.json").write_text(text + "\n", encoding="utf-8")


def choose_tokenizer(name: str, default: str, texts: Sequence[str]) -> Tokenizer:
    """Make or read the tokenizer that a user names: `byte`, `bpe:8000`, `wordpiece:8000`, or a file.

    Raises:
        ConfigError: If the name is none of these.
    """
    kind, _, size = (name or default).partition(":")
    if kind == "byte" and not size:
        return Tokenizer.byte_level()
    if kind in vocabulary.LEARNERS and (size.isdigit() or not size):
        return Tokenizer.train(texts, kind, int(size or 8000))
    if name.endswith(".json"):
        return Tokenizer.load(name)
    raise ConfigError(
        f"tokenizer={name!r} is not one of byte, {', '.join(f'{each}:SIZE' for each in vocabulary.LEARNERS)}, "
        "nor the path of a tokenizer.json"
    )


def check_lengths(
    rows: Sequence[Sequence[int]], places: Sequence[str], texts: Sequence[str], limit: int | None
) -> None:
    """Refuse a row that is longer than the model reads.

    Raises:
        DataError: If there is one; the text names where it comes from.
    """
    for row, place, text in zip(rows, places, texts, strict=True):
        if limit is not None and len(row) > limit:
            start = text if len(text) <= 40 else f"{text[:40]}…"
            raise DataError(
                f"{place}: {len(row)} tokens ({start!r}) are more than the model's max_len={limit}: "
                f"make it with max_len={len(row)}, or shorten the text"
            )


def symbols_of(spec: ModelSpec, tokenizer: Tokenizer) -> dict[str, Any]:
    """Give the keyword that tells a model which tokens are padding, begin and end, unless they are the usual ones."""
    symbols = Symbols(tokenizer.pad, tokenizer.bos, tokenizer.eos)
    return {"symbols": list(symbols)} if symbols != SYMBOLS or "symbols" in spec.config else {}


@contextmanager
def judged(model: nn.Module) -> Iterator[torch.device]:
    """Put a model into evaluation, without gradients, and give its device; its mode comes back."""
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    finally:
        model.train(was)


def moved(batch: Batch, device: torch.device) -> Batch:
    """Bring a batch to a device."""
    inputs = tuple(each.to(device) if isinstance(each, Tensor) else each for each in batch.inputs)
    return Batch(inputs, batch.target.to(device))
