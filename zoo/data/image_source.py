"""What a study asks of a data source; a plugin's entry `(argument, seed)` returns one."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from zoo.errors import DataError
from zoo.registry.entry_loading import load
from zoo.registry.lookup import registry

if TYPE_CHECKING:
    import torch


class Examples(NamedTuple):
    """Hold examples in memory: raw inputs, one row each, and their classes."""

    inputs: "torch.Tensor"
    labels: "torch.Tensor"


class Reference(NamedTuple):
    """Draw a line in the figure: an accuracy and what reaches it."""

    accuracy: float
    meaning: str


@runtime_checkable
class Source(Protocol):
    """Give examples, split once into a training pool, validation and test."""

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
        """Count the training examples there are; None: as many as asked for."""

    @property
    def reference(self) -> Reference | None:
        """Give a line for the figure."""

    @property
    def fingerprint(self) -> str:
        """Give a text that changes when the data do."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the user has to know: pictures that could not be read."""

    def resized(self, image_size: int) -> "Source":
        """Give the same data at another size."""

    def train(self, count: int, seed: int) -> Examples:
        """Draw training examples, class-balanced; of one seed, fewer are the beginning of more."""

    def validation(self) -> Examples:
        """Give the examples that choose the checkpoint."""

    def test(self) -> Examples:
        """Give the examples that are reported on."""

    def prepare(self, inputs: "torch.Tensor") -> "torch.Tensor":
        """Turn raw inputs into what models read."""

    def augment(self, inputs: "torch.Tensor", generator: "torch.Generator") -> "torch.Tensor":
        """Change prepared inputs at random in a way that leaves their labels alone."""


def open_source(text: str, seed: int = 0) -> Source:
    """Open `name` or `name:argument` of any plugin; the seed splits it.

    Raises:
        DataError: If no plugin knows the name, or an argument is missing or not taken.
        MissingLibraryError: If a library the source needs is not installed.
    """
    spec, argument = registry().sources.split(text)
    if bool(argument) != bool(spec.takes):
        usage = f"{spec.name}:{spec.takes}" if spec.takes else spec.name
        raise DataError(f"data source {text!r}: write {usage!r}")
    if not spec.entry:
        raise DataError(f"data source {text!r} is for training: zoo train NAME --data {text}")
    return load(spec)(argument, seed)
