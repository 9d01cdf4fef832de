"""`LabelledTexts`: classes of the user's own texts, as a task on sequences whose last token asks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from zoo.core import IGNORED
from zoo.data.corpus import Batch, Corpus, open_corpus
from zoo.data.sequences.task import Drawn, numbered
from zoo.errors import ConfigError
from zoo.factory.create import info

READER = "bert-micro"
"""Model for which the data are opened: an encoder of texts, here without a limit of length."""
TOKENIZER = "byte"
PARTS = ("train", "validation", "test")
AT_ONCE = 256


@dataclass(frozen=True)
class LabelledTexts:
    """Tell the class of a text at the token behind it; longer texts are cut.

    Args:
        source: as `--data` of `zoo train` takes it: `labelled:reviews.tsv`, a path, `hf:imdb`.
        length: bytes of a text and the token that asks, at most.
        part: 0 train, 1 validation, 2 test; those of the source.

    Raises:
        ConfigError: If these are no texts with a class each, or the length is below 2.
        DataError: If there is no such source, nothing to read, or one class only.
    """

    source: str
    length: int
    part: int = 0

    def __post_init__(self) -> None:
        if self.length < 2:
            raise ConfigError(f"length={self.length}: a byte and the token that asks need 2")
        if self._corpus.task != "classify":
            raise ConfigError(
                f"data {self.source!r} are for the task {self._corpus.task!r}; give texts with one class each, such as"
                " labelled:FILE, or text:FILE for the next character"
            )

    def of_part(self, part: int) -> "LabelledTexts":
        """Give the task on another part."""
        return replace(self, part=part)

    @property
    def content(self) -> str:
        """Change when the data do."""
        return self._corpus.fingerprint

    @cached_property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return (*numbered("b", self._corpus.overrides()["vocab_size"]), "?")

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return numbered("class ", self._corpus.overrides()["num_classes"])

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`: any texts in training, in the other parts each at most once."""
        ids, lengths, classes = self._texts
        if self.part == 0:
            chosen = torch.randint(len(ids), (count,), generator=generator)
        else:
            chosen = torch.randperm(len(ids), generator=generator)[:count]
        lengths = lengths[chosen]
        ids = ids[chosen, : int(lengths.max())].long()
        targets = torch.full_like(ids, IGNORED)
        targets[torch.arange(len(ids)), lengths - 1] = classes[chosen]
        return Drawn(ids, lengths, targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        (_, _, seen), (_, _, asked) = self.of_part(0)._texts, self.of_part(2)._texts
        likely = float((asked == seen.bincount().argmax()).double().mean())
        return {
            "guessing": 1 / len(self.classes),
            "the most frequent class": likely,
        }

    @cached_property
    def _corpus(self) -> Corpus:
        spec = info(READER)
        return open_corpus(self.source, replace(spec, config={**spec.config, "position": "sinusoidal"}), 0, TOKENIZER)

    @cached_property
    def _texts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give ids (texts, length), lengths and classes; each text is followed by the token that asks."""
        rows, classes = [], []
        for batch in self._batches():
            for row, size in zip(*batch.inputs, strict=True):
                rows.append(row[: min(int(size), self.length - 1)])
            classes.append(batch.target)
        lengths = torch.tensor([len(row) + 1 for row in rows])
        ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int32)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            ids[place, len(row)] = len(self.words) - 1
        return ids, lengths, torch.cat(classes)

    def _batches(self) -> Iterator[Batch]:
        if self.part:
            yield from self._corpus.held_out(PARTS[self.part], AT_ONCE)
            return
        generator = torch.Generator().manual_seed(0)
        for index in torch.arange(self._corpus.sizes[PARTS[0]]).split(AT_ONCE):
            yield self._corpus.batch(index, generator)
