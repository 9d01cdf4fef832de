"""Sources of labelled images: the interface that an image corpus requires, and that a `SourceSpec.entry` returns."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo.data import Reference


class InputsOnDisk(Protocol):
    """Raw inputs that are read when they are needed."""

    def read(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Read some, one row each, and tell which of them could be read."""

    def take(self, index: NDArray[np.int64]) -> "InputsOnDisk":
        """Choose some; nothing is read."""


class Examples(NamedTuple):
    """Examples: raw inputs, in memory one row each, or on disk, and their classes."""

    inputs: Any
    """A tensor, or `InputsOnDisk`."""
    labels: Tensor


@runtime_checkable
class ImageSource(Protocol):
    """Give labelled images, split once into a training pool, validation and test."""

    @property
    def name(self) -> str:
        """Name it for titles."""

    @property
    def description(self) -> str:
        """Say in a sentence what the data are, for the report."""

    @property
    def num_classes(self) -> int:
        """Count the classes."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Name the classes; empty where they have none but numbers."""

    @property
    def preparation(self) -> dict[str, Any]:
        """Say what `prepare` does in the words of timm's `pretrained_cfg`, for predictions."""

    @property
    def channels(self) -> int:
        """Count the channels of an input."""

    @property
    def image_size(self) -> int:
        """Give the pixels along a side."""

    @property
    def limit(self) -> int | None:
        """Number of training examples; None for an unlimited number."""

    @property
    def reference(self) -> Reference | None:
        """Give a line for the figure."""

    @property
    def fingerprint(self) -> str:
        """Give a text that changes when the data do."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the user has to know: pictures that could not be read."""

    def resized(self, image_size: int) -> "ImageSource":
        """Give the same data at another size."""

    def train(self, count: int, seed: int) -> Examples:
        """Draw training examples, class-balanced; of one seed, fewer are the beginning of more."""

    def validation(self) -> Examples:
        """Give the examples that choose the checkpoint."""

    def test(self) -> Examples:
        """Give the examples that are reported on."""

    def prepare(self, inputs: Tensor) -> Tensor:
        """Turn raw inputs into what models read."""

    def augment(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Change prepared inputs at random in a way that leaves their labels alone."""
