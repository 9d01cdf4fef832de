"""What a study asks of a data source; a plugin's entry `(argument, seed)` returns one."""

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from zoo.entries import load
from zoo.errors import DataError
from zoo.registry import registry

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

    name: str
    description: str
    """One sentence about the data, for the report."""
    num_classes: int
    channels: int
    image_size: int
    limit: int | None
    """Training examples there are; None: as many as asked for."""
    reference: Reference | None
    fingerprint: str
    """Changes when the data do."""
    notes: tuple[str, ...]
    """What the user has to know: pictures that could not be read."""

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
    return load(spec)(argument, seed)
