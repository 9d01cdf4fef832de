"""Pictures as a corpus: every data source of the studies, for a model that labels them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core.losses.loss import cross_entropy
from zoo.data.corpus import Batch
from zoo.data.image_source import Examples, Source, open_source
from zoo.spec import ModelSpec
from zoo.training.checkpoint import write_text

UNLIMITED = 10_000
"""Training examples taken of a source that makes as many as it is asked for."""


@dataclass(frozen=True)
class Pictures:
    """Let a model name the class of each picture.

    Args:
        source: the data, at the model's size.
        seed: orders the training examples.
        fixed_size: whether the model's size is a keyword of its own.
    """

    source: Source
    seed: int
    fixed_size: bool
    task: str = "classify"
    metric: str = "accuracy"

    @property
    def name(self) -> str:
        """See `Corpus.name`."""
        return self.source.name

    @property
    def description(self) -> str:
        """See `Corpus.description`."""
        return self.source.description

    @property
    def fingerprint(self) -> str:
        """See `Corpus.fingerprint`."""
        return f"{self.source.fingerprint}-{self.source.image_size}"

    @property
    def sizes(self) -> Mapping[str, int]:
        """See `Corpus.sizes`."""
        parts = {"train": self.train, "validation": self.source.validation(), "test": self.source.test()}
        return {name: len(part.labels) for name, part in parts.items()}

    @property
    def preparation(self) -> dict[str, Any]:
        """Say how pictures are prepared, for predictions."""
        return self.source.preparation

    @cached_property
    def train(self) -> Examples:
        """Give the training examples, as bytes."""
        return self.source.train(self.source.limit or UNLIMITED, self.seed)

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        size = {"image_size": self.source.image_size} if self.fixed_size else {}
        return {"num_classes": self.source.num_classes, "in_chans": self.source.channels} | size

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """See `Corpus.epoch`."""
        return torch.randperm(len(self.train.labels), generator=generator).split(batch_size)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """See `Corpus.batch`."""
        pictures = self.source.prepare(self.train.inputs[index])
        return Batch((self.source.augment(pictures, generator),), self.train.labels[index])

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """See `Corpus.held_out`."""
        part = self.source.test() if split == "test" else self.source.validation()
        for inputs, labels in zip(part.inputs.split(batch_size), part.labels.split(batch_size), strict=True):
            yield Batch((self.source.prepare(inputs),), labels)

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`."""
        return cross_entropy(answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `Corpus.score`."""
        like = next(model.parameters())
        right, loss, count = 0, 0.0, 0
        for (inputs,), labels in self.held_out(split, batch_size):
            answer = model(inputs.to(like.device, like.dtype)).float().cpu()
            right += int((answer.argmax(-1) == labels).sum())
            loss += float(cross_entropy(answer, labels)) * len(labels)
            count += len(labels)
        return {"accuracy": right / count, "loss": loss / count}

    def save(self, folder: Path) -> None:
        """See `Corpus.save`: the names of the classes."""
        names = self.source.classes or tuple(map(str, range(self.source.num_classes)))
        write_text(folder / "labels.json", json.dumps(list(names), ensure_ascii=False) + "\n")


def open_pictures(text: str, spec: ModelSpec, seed: int) -> Pictures:
    """Open a source at the size that a model reads.

    Args:
        text: as for `zoo bench --data`.
        spec: of the model, with the overrides that were given.
        seed: splits the data.
    """
    source = open_source(text, seed)
    size = spec.config.get("image_size")
    if size is not None:
        source = source.resized(size)
    return Pictures(source, seed, size is not None)
