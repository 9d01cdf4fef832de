"""`MultiLabelImages`: images with any number of labels each, as multi-label classification.

Axes: b images, s different sets of labels, k labels.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo import ConfigError, ModelSpec
from zoo.core import IGNORED, binary_cross_entropy
from zoo.data import SCORES, SKLEARN, Batch, Columns, evaluation_mode, label_scores, unpacked, write_text
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus, adapt
from zoo.plugins.vision.data import DIGITS, SETS, open_card_sets
from zoo.registry import require

_MIXING = frozenset(("mixup", "cutmix"))


@dataclass(frozen=True, eq=False)
class MultiLabelImages:
    """Images with any number of labels each, none too; the loss is a binary cross-entropy for each label.

    Args:
        images: a class of an image is the number of its set of labels.
        names: of the labels.
        sets: 1 for the labels of each set, 0 for others, NaN where nobody knows.
    """

    images: ImageCorpus
    names: tuple[str, ...]
    sets: Float[Tensor, "s k"]
    task: str = "multi-label"
    metric: str = "micro F1"
    smooth: tuple[str, ...] = ("mAP",)

    def __post_init__(self) -> None:
        require(self.name, (SKLEARN,))

    @property
    def name(self) -> str:
        """See `Corpus.name`."""
        return self.images.name

    @property
    def description(self) -> str:
        """See `Corpus.description`."""
        return f"{self.images.description} Each has any number of {len(self.names)} labels; a class is a set of them."

    @property
    def fingerprint(self) -> str:
        """See `Corpus.fingerprint`."""
        return f"{self.images.fingerprint}-labels-{','.join(self.names)}"

    @property
    def sizes(self) -> Mapping[str, int]:
        """See `Corpus.sizes`."""
        return self.images.sizes

    @property
    def preparation(self) -> dict[str, Any]:
        """Say how pictures are prepared, for predictions."""
        return self.images.preparation

    @property
    def reads_files(self) -> bool:
        """Whether images are read from files when they are needed."""
        return self.images.reads_files

    @property
    def cacheable(self) -> bool:
        """Whether `--cache` would keep images after decoding, and nothing does so."""
        return self.images.cacheable

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the user has to know, such as pictures that cannot be read."""
        return self.images.source.notes

    @property
    def labels(self) -> list[str]:
        """Name the labels."""
        return list(self.names)

    def with_augmentation(self, names: str) -> "MultiLabelImages":
        """See `AugmentsByName.with_augmentation`.

        Raises:
            ConfigError: If labels would be mixed: the share of a label is no label.
        """
        images = self.images.with_augmentation(names)
        if mixing := sorted(images.augmentation.extras & _MIXING):
            raise ConfigError(f"augment={names!r}: {mixing[0]} mixes the classes of images that have one label each")
        return replace(self, images=images)

    def with_cache(self, wanted: bool) -> "MultiLabelImages":
        """See `CachesDecoded.with_cache`."""
        return replace(self, images=self.images.with_cache(wanted))

    def with_preparation(self, preparation: Mapping[str, Any]) -> "MultiLabelImages":
        """See `PreparesInputs.with_preparation`."""
        return replace(self, images=self.images.with_preparation(preparation))

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        return self.images.overrides() | {"task": self.task, "num_classes": len(self.names)}

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """See `Corpus.epoch`."""
        return self.images.epoch(generator, batch_size)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """See `Corpus.batch`."""
        return unpacked(self.packed_batch(index, generator))

    def packed_batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        """Give training images as bytes, see `zoo.data.Packed`."""
        return self._with_labels(self.images.packed_batch(index, generator))

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """See `Corpus.held_out`; an image that cannot be read has no targets."""
        return map(self._with_labels, self.images.held_out(split, batch_size))

    def items(self, split: str, places: Sequence[int]) -> Batch:
        """See `GivesItems.items`."""
        return self._with_labels(self.images.items(split, places))

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """See `KnowsClasses.placed`."""
        return ((places, self._with_labels(batch)) for places, batch in self.images.placed(split, batch_size))

    @property
    def columns(self) -> Columns | None:
        """Of the table that the pictures are from, where there is one."""
        return self.images.columns

    def targets(self, codes: Int[Tensor, " b"]) -> Float[Tensor, "b k"]:
        """Give the labels of images by the numbers of their sets; NaN for -100."""
        found = self.sets[codes.clamp(min=0)]
        return found.masked_fill((codes == IGNORED)[:, None], torch.nan)

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`: the mean binary cross-entropy of the labels."""
        return binary_cross_entropy(answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give F1, exact match and mean average precision at the threshold 0.5, and the loss."""
        with evaluation_mode(model) as device:
            return label_scores(model, self.held_out(split, batch_size), device)

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return SCORES

    def save(self, folder: Path) -> None:
        """See `Corpus.save`: the names of the labels."""
        write_text(folder / "labels.json", json.dumps(self.labels, ensure_ascii=False) + "\n")

    def _with_labels(self, batch: Batch) -> Batch:
        return Batch(batch.inputs, self.targets(batch.target))


def cards_digits(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> MultiLabelImages:
    """Open pictures of one to four digits; which are there is asked."""
    images = adapt(open_card_sets(argument, seed), spec, seed, tokenizer)
    return MultiLabelImages(images, DIGITS, torch.from_numpy(SETS))
