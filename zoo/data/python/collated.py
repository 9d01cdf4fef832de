"""`CollatedCorpus`: pairs whose inputs are tensors as the model reads them, put together as a `DataLoader` does."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import default_collate

from zoo.data.batches.batched_corpus import BatchedCorpus, DatasetInfo, evaluation_mode
from zoo.data.content_digest import content_digest
from zoo.data.corpus import Batch
from zoo.data.labelling.labels import names_of
from zoo.data.metrics.token_metrics import token_scores
from zoo.data.purpose import for_training
from zoo.data.python.pairs import Pairs, described_item, label_cell
from zoo.data.splits import by_hash, hash_names
from zoo.data.tables.table import PARTS
from zoo.errors import DataError
from zoo.spec import ModelSpec


class CollatedCorpus(BatchedCorpus):
    """Classification of inputs that are read as they are, when they are needed.

    Args:
        about: the data.
        spec: of the model.
        items: of the data, in the parts that were given.
        rows: part and place of each example, by the part that it is in now.
        classes: of these.
        labels: names of the classes.
    """

    task, metric = "classify", "accuracy"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        items: Mapping[str, Any],
        rows: Mapping[str, Sequence[tuple[str, int]]],
        classes: Mapping[str, Tensor],
        labels: Sequence[str],
    ) -> None:
        super().__init__(about, spec, {part: torch.ones(len(rows[part])) for part in PARTS})
        self.given, self.rows, self.classes, self.labels = items, rows, classes, list(labels)
        self.fitting: dict[str, Any] = {}

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        return super().overrides() | self.fitting

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give inputs as they are; random numbers that the items draw from torch follow the generator."""
        with torch.random.fork_rng(devices=[]):
            seed = 0 if generator is None else int(torch.randint(2**31, (1,), generator=generator))
            torch.manual_seed(seed)
            found = [self.given[part][place][0] for part, place in (self.rows[split][each] for each in places)]
        inputs = default_collate(found)
        return Batch(tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), self.classes[split][places])

    def classes_of(self, split: str) -> Tensor:
        """See `KnowsClasses.classes_of`."""
        return self.classes[split]

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `Corpus.score`."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}


def collated_corpus(pairs: Pairs, spec: ModelSpec, seed: int, **overrides: Any) -> CollatedCorpus:
    """Make a corpus of pairs whose inputs are tensors as the model reads them, or tuples of these.

    Each item is read once, for its label and for the fingerprint, which holds the inputs unless they are drawn anew
    each time by something else than torch. Parts that are not given are drawn, each class alike.

    Args:
        pairs: the data.
        spec: of the model.
        seed: of the draw.
        overrides: keywords for `zoo.create` that fit a model to the inputs.

    Raises:
        DataError: If items are no pairs of a tensor and a label, or labels of validation or test are not trained.
    """
    content = hashlib.blake2b(digest_size=8) if _stay(pairs) else None
    cells = {part: [label_cell(*row) for row in _read(pairs, part, content)] for part in pairs.parts}
    given, targets = cells["train"], {part: [*map(str, found)] for part, found in cells.items()}
    taught = targets["train"] if for_training() else [label for found in targets.values() for label in found]
    labels = names_of(taught, pairs.name)
    if all(isinstance(label, int) for label in given):
        labels.sort(key=int)  # as they are counted: 2 before 10
    number = {name: place for place, name in enumerate(labels)}
    for part, found in targets.items():
        if strange := sorted(set(found) - number.keys()):
            raise DataError(
                f"{pairs.name}: label{'s' if len(strange) > 1 else ''} {', '.join(strange[:5])} of {part} are in no "
                f"training example, which have {', '.join(labels[:20])}"
            )
    classes = {part: np.array([number[name] for name in found], np.int64) for part, found in targets.items()}
    places = _drawn(classes, seed)
    rows = {part: [(own, place) for own, place in found] for part, found in places.items()}
    chosen = {part: torch.tensor([int(classes[own][place]) for own, place in rows[part]]) for part in rows}
    told = (sorted(targets.items()), seed, content.hexdigest() if content else None)
    digest = hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest()
    inputs = described_item(pairs.first()[0][0])
    count = sum(map(len, targets.values()))
    text = f"{pairs.name} are {count:,} of {len(labels)} classes, inputs as they are ({inputs})."
    if content is None:
        text += " The inputs are drawn anew each time, so --resume compares the labels alone."
    corpus = CollatedCorpus(DatasetInfo(pairs.name, text, digest), spec, pairs.parts, rows, chosen, labels)
    corpus.fitting = overrides
    return corpus


def _checked(row: tuple[Any, Any, str]) -> tuple[Any, Any, str]:
    given, _, place = row
    each = given if isinstance(given, tuple | list) else (given,)
    if not all(isinstance(one, Tensor | np.ndarray) for one in each):
        raise DataError(f"{place}: the input is {described_item(given)}; a tensor as the model reads it is wanted")
    return row


def _read(pairs: Pairs, part: str, content: Any) -> Iterator[tuple[Any, Any, str]]:
    """Read the examples of a part, in order; what they draw from torch is the same each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for row in map(_checked, pairs.pairs(part)):
            if content is not None:
                content.update(content_digest(row[0]))
            yield row


def _stay(pairs: Pairs) -> bool:
    """Tell whether the first input is the same when it is read again."""
    found = [hashlib.blake2b(digest_size=8) for _ in range(2)]
    for digest in found:
        next(_read(pairs, "train", digest))
    return found[0].digest() == found[1].digest()


def _drawn(classes: Mapping[str, Any], seed: int) -> dict[str, list[tuple[str, int]]]:
    rows = {part: [(part, place) for place in range(len(found))] for part, found in classes.items()}
    missing = [part for part in PARTS if part not in rows]
    if missing:
        hashes = hash_names(str(place).encode() for place in range(len(classes["train"])))
        drawn = by_hash(hashes, seed, classes["train"], missing)
        rows |= {part: [("train", int(place)) for place in places] for part, places in drawn.items()}
    if for_training() and (empty := [part for part in PARTS if not rows[part]]):
        raise DataError(f"{len(classes['train'])} examples are too few: none is left for {' and '.join(empty)}")
    return rows
