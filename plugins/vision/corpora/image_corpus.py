"""Image corpora: labelled images of any source for image classification, in trainings and studies."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo import ConfigError, DataError, ModelSpec
from zoo.core import count_targets, cross_entropy
from zoo.data import Batch, Columns, StudyInfo, first_of_each, read_ahead, unpacked, write_text
from zoo.plugins.vision.data import open_cards, open_contours, open_digits, open_folder, open_npz
from zoo.plugins.vision.data.augmentation import DEFAULT, Augmentation, read
from zoo.plugins.vision.data.folders.folder import Folder
from zoo.plugins.vision.data.pictures import Looks
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
        augmentation: of training images.
    """

    source: ImageSource
    seed: int
    fixed_size: bool
    task: str = "classify"
    metric: str = "accuracy"
    augmentation: Augmentation = DEFAULT

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
        """See `Corpus.fingerprint`; crops of cached images are other examples than crops of whole ones."""
        cached = isinstance(self.source, Folder) and self.source.crops and self.source.cache
        return f"{self.source.fingerprint}-{self.source.image_size}{'-crops-of-cache' if cached else ''}"

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
        limit = self.source.limit
        return self.source.train(UNLIMITED if limit is None else limit, self.seed)

    @property
    def reads_files(self) -> bool:
        """Whether images are read from files when they are needed."""
        return isinstance(self.source, Folder)

    @property
    def cacheable(self) -> bool:
        """Whether `--cache` would keep images after decoding, and nothing does so."""
        return isinstance(self.source, Folder) and self.source.reader.cache is None

    mixes_inputs = True
    """Whether `mixup` is an augmentation."""

    def with_augmentation(self, names: str) -> "ImageCorpus":
        """See `AugmentsByName.with_augmentation`: names of `Augmentation.parse`."""
        augmentation = Augmentation.parse(names)
        augmentation.check(self.source)
        source = self.source.for_crops(augmentation.crops) if isinstance(self.source, Folder) else self.source
        return replace(self, source=source, augmentation=augmentation)

    def with_cache(self, wanted: bool) -> "ImageCorpus":
        """See `CachesDecoded.with_cache`.

        Raises:
            ConfigError: If a cache is wanted of images that are in memory.
        """
        if isinstance(self.source, Folder):
            return replace(self, source=self.source.cached(wanted))
        if wanted:
            raise ConfigError(f"cache={wanted}: the images of {self.name!r} are in memory, and need no cache")
        return self

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        size = {"image_size": self.source.image_size} if self.fixed_size else {}
        return {"num_classes": self.source.num_classes, "in_chans": self.source.channels} | size

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """See `Corpus.epoch`."""
        return torch.randperm(len(self.train.labels), generator=generator).split(batch_size)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """See `Corpus.batch`."""
        return unpacked(self.packed_batch(index, generator))

    def packed_batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """Give training images as bytes, where they are normalised last; see `zoo.data.Packed`."""
        return self.augmentation.batch(self.source, self.train, index, generator)

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """See `Corpus.held_out`."""
        yield from map(unpacked, self._held_out(split, batch_size))

    def _held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        count = self.sizes[split]
        ends = ((split, start, min(count, start + batch_size)) for start in range(0, count, batch_size))
        yield from read_ahead(self.examples, ends)

    def examples(self, split: str, start: int, end: int) -> Batch:
        """Give some of a split as they are, packed; the target of an image that cannot be read is -100."""
        return self._given(split, torch.arange(start, end))

    def items(self, split: str, places: Sequence[int]) -> Batch:
        """See `GivesItems.items`."""
        return unpacked(self._given(split, torch.tensor(places)))

    @property
    def columns(self) -> Columns | None:
        """Of the table that the pictures are from, where there is one."""
        index = self.source.index if isinstance(self.source, Folder) else None
        columns: Columns | None = index.columns(self.seed) if index else None
        return columns

    def _given(self, split: str, index: Tensor) -> Batch:
        """Give examples as they are, packed."""
        inputs, labels = read(self._part(split), index)
        prepare = self.source.packed if isinstance(self.source, Looks) else self.source.prepare
        return Batch((prepare(inputs),), labels)

    def classes_of(self, split: str) -> Tensor:
        """See `KnowsClasses.classes_of`."""
        return self._part(split).labels

    def _part(self, split: str) -> Examples:
        return {"train": lambda: self.train, "validation": self.source.validation, "test": self.source.test}[split]()

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """See `KnowsClasses.placed`."""
        places = torch.arange(self.sizes[split]).split(batch_size)
        return zip((each.tolist() for each in places), self.held_out(split, batch_size), strict=True)

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`."""
        return cross_entropy(answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `Corpus.score`."""
        like = next(model.parameters())
        right, loss, count = 0, 0.0, 0
        for (packed,), labels in self._held_out(split, batch_size):
            (inputs,), _ = unpacked(Batch((packed.to(like.device),), labels))
            answer = model(inputs.to(like.dtype)).float().cpu()
            known = int(count_targets(labels))
            right += int((answer.argmax(-1) == labels).sum())
            loss += float(cross_entropy(answer, labels)) * known
            count += known
        return {"accuracy": right / count, "loss": loss / count}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")

    @property
    def labels(self) -> list[str]:
        """Name the classes."""
        return list(self.source.classes or map(str, range(self.source.num_classes)))

    def save(self, folder: Path) -> None:
        """See `Corpus.save`: the names of the classes."""
        write_text(folder / "labels.json", json.dumps(self.labels, ensure_ascii=False) + "\n")

    def prepared_as(self, other: Any) -> "ImageCorpus":
        """See `PreparesAs.prepared_as`: with the mean and deviation of other images."""
        theirs = other.source if isinstance(other, ImageCorpus) else None
        if not (isinstance(self.source, Looks) and isinstance(theirs, Looks)):
            return self
        return replace(self, source=replace(self.source, mean=theirs.mean, deviation=theirs.deviation))

    def with_preparation(self, preparation: Mapping[str, Any]) -> "ImageCorpus":
        """See `PreparesInputs.with_preparation`: by its `input_size`, `mean` and `std`.

        Whole images are resized, without the crop of a preparation for photographs. Moments of another number of
        channels are averaged.
        """
        source = self.source.resized(preparation["input_size"][-1])
        if isinstance(source, Looks):
            moments = (tuple(map(float, preparation[name])) for name in ("mean", "std"))
            mean, deviation = (m if len(m) == source.channels else (fmean(m),) * source.channels for m in moments)
            source = replace(source, by_channel=(mean, deviation))
        return replace(self, source=source, fixed_size=True)

    def study_info(self) -> StudyInfo:
        """See `DrawsSubsets.study_info`; the fingerprint is that of the source, whatever the size."""
        source = self.source
        counts = source.test().labels.bincount()
        return StudyInfo(
            fingerprint=source.fingerprint,
            limit=source.limit,
            num_classes=source.num_classes,
            reference=source.reference,
            notes=source.notes,
            shared=True,
            batch_size=EVALUATION_BATCH_SIZE,
            chance=int(counts.max()) / int(counts.sum()) if len(counts) else None,
        )

    def subset(self, count: int, seed: int, augment: bool) -> "ImageSubset":
        """See `DrawsSubsets.subset`: as many images of each class."""
        return ImageSubset(self.source, seed, self.fixed_size, count=count, augmented=augment)

    def subset_of_classes(self, counts: Sequence[int], seed: int, augment: bool) -> "ImageSubset":
        """See `DrawsClasses.subset_of_classes`."""
        return ClassSubset(
            self.source, seed, self.fixed_size, count=sum(counts), augmented=augment, counts=tuple(counts)
        )


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

    def packed_batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """See `ImageCorpus.packed_batch`."""
        chosen = self.augmentation if self.augmented else Augmentation("none")
        return chosen.batch(self.source, self.train, index, generator)

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`."""
        return functional.cross_entropy(answer, target, label_smoothing=smoothing)


@dataclass(frozen=True)
class ClassSubset(ImageSubset):
    """Some of the images, so many of each class.

    Args:
        counts: of the training images of each class.
    """

    counts: tuple[int, ...] = ()

    @cached_property
    def train(self) -> Examples:
        """Give the first training examples of each class, of as many as hold them: a source draws classes alike."""
        pool = self.source.train(self.source.limit or len(self.counts) * max(self.counts), self.seed)
        index = first_of_each(pool.labels, self.counts)
        if len(index) < self.count:
            raise DataError(f"{self.name}: of {len(pool.labels):,} images, too few are of the classes asked for")
        inputs = pool.inputs[index] if isinstance(pool.inputs, Tensor) else pool.inputs.take(index.numpy())
        return Examples(inputs, pool.labels[index])


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


def folder(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ImageCorpus:
    """Open a folder, at the size that a model reads from the first."""
    size = spec.config.get("image_size")
    return adapt(open_folder(argument, seed, *([size] if size else [])), spec, seed, tokenizer)


cards, digits, npz, contours = (_opening(entry) for entry in (open_cards, open_digits, open_npz, open_contours))
