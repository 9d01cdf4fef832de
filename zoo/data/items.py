"""What an evaluation asks of a corpus beyond `Corpus`: single examples, written texts, columns of a table."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from zoo.data.corpus import Batch


class Written(NamedTuple):
    """What a model wrote for an example.

    Args:
        place: index of the example in its split.
        text: that was written.
        wanted: the references, any of which is right.
        source: the text that it was written for; empty where the input is none.
    """

    place: int
    text: str
    wanted: tuple[str, ...]
    source: str = ""


@runtime_checkable
class WritesTexts(Protocol):
    """A corpus for which models write texts that are compared with references."""

    @property
    def units(self) -> str:
        """How BLEU parts texts, a tokenisation of sacrebleu; empty where errors in words and characters are counted."""

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """Let a model write a text for each example of a split, greedily; examples that cannot be read are left out."""


@runtime_checkable
class GivesItems(Protocol):
    """A corpus that gives single examples of a split as they are, without augmentation."""

    def items(self, split: str, places: Sequence[int]) -> Batch:
        """Give examples by their indices."""


@runtime_checkable
class Columns(Protocol):
    """Columns of the table that examples are from, those that no model reads included."""

    @property
    def names(self) -> Sequence[str]:
        """Name the columns."""

    def values(self, name: str, split: str) -> Sequence[Any]:
        """Give the cell of each example of a split, by its index."""
