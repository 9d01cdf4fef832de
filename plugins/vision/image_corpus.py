"""Image corpora: labelled images of any source for image classification, in trainings and studies."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo import ConfigError, ModelSpec
from zoo.core import cross_entropy
from zoo.data import Batch, StudyInfo, write_text
from zoo.plugins.vision import data
from zoo.plugins.vision.image_source import Examples, ImageSource

Open = Callable[[str, ModelSpec, int, str], "ImageCorpus"]
UNLIMITED = 10_000
"""Training examples taken of a source that makes as many as it is asked for."""
EVALUATION_BATCH_SIZE = 256
"""Images of a batch in the validation of studies."""


@dataclass(frozen=True)
class ImageCorpus:
    """Labelled images, prepared at the model's size, for image classification.

    Args:
        source: the data, at the model's size.
        seed: orders the training examples.
        fixed_size: whether the model's size is a keyword of its own.
    """

    source: ImageSource
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

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")

    def save(self, folder: Path) -> None:
        """See `Corpus.save`: the names of the classes."""
        names = self.source.classes or tuple(map(str, range(self.source.num_classes)))
        write_text(folder / "labels.json", json.dumps(list(names), ensure_ascii=False) + "\n")

    def study_info(self) -> StudyInfo:
        """See `DrawsSubsets.study_info`; the fingerprint is that of the source, whatever the size."""
        source = self.source
        return StudyInfo(
            fingerprint=source.fingerprint,
            limit=source.limit,
            num_classes=source.num_classes,
            reference=source.reference,
            notes=source.notes,
            shared=True,
            batch_size=EVALUATION_BATCH_SIZE,
        )

    def subset(self, count: int, seed: int, augment: bool) -> "ImageSubset":
        """See `DrawsSubsets.subset`: as many images of each class."""
        return ImageSubset(self.source, seed, self.fixed_size, count=count, augmented=augment)


@dataclass(frozen=True)
class ImageSubset(ImageCorpus):
    """Some of the images, as the runs of a study draw, batch and judge them: what it stores must not change.

    Args:
        count: of the training images.
        augmented: whether they are changed at random.
    """

    count: int = 1
    augmented: bool = False

    @cached_property
    def train(self) -> Examples:
        """Give the training examples, as bytes."""
        return self.source.train(self.count, self.seed)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """Give whole batches; a set smaller than a batch is one batch."""
        order = torch.randperm(self.count, generator=generator)
        return order[: max(1, self.count // batch_size) * batch_size].split(batch_size)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """See `Corpus.batch`."""
        images = self.source.prepare(self.train.inputs[index])
        return Batch((self.source.augment(images, generator) if self.augmented else images,), self.train.labels[index])

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`."""
        return functional.cross_entropy(answer, target, label_smoothing=smoothing)


def adapt(source: ImageSource, spec: ModelSpec, seed: int, tokenizer: str = "") -> ImageCorpus:
    """Make a corpus of a source, at the size that a model reads.

    Args:
        source: of images.
        spec: of the model, with the overrides that were given; `image_size=None` leaves the source's own size.
        seed: orders the training examples.
        tokenizer: none, there is no text.

    Raises:
        ConfigError: If a tokenizer is asked for.
    """
    if tokenizer:
        raise ConfigError(f"tokenizer={tokenizer!r} with data {source.name!r}, which hold no text")
    size = spec.config.get("image_size")
    return ImageCorpus(source if size is None else source.resized(size), seed, "image_size" in spec.config)


def _opening(entry: Callable[[str, int], ImageSource]) -> Open:
    """Make what opens a corpus of what opens a source."""
    return lambda argument, spec, seed, tokenizer: adapt(entry(argument, seed), spec, seed, tokenizer)


cards, digits = _opening(data.open_cards), _opening(data.open_digits)
folder, npz = _opening(data.open_folder), _opening(data.open_npz)
