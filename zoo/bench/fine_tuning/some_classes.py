"""`SomeClasses`: the examples of some classes of a corpus, few of each for training."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.atomic_write import write_text
from zoo.core.losses.loss import IGNORED
from zoo.data.batches.batched_corpus import evaluation_mode
from zoo.data.corpus import Batch
from zoo.data.items import GivesItems
from zoo.data.labelling.known_classes import KnowsClasses, first_of_each
from zoo.data.metrics.token_metrics import token_scores
from zoo.errors import ConfigError


class SomeClasses:
    """Serve the examples of some classes, which are numbered anew; all else is as the corpus has it.

    Args:
        corpus: whose examples have one class each.
        classes: their numbers.
        each: training examples of each class at most; None for all.
        seed: draws them; of one seed, fewer are among more.

    Raises:
        ConfigError: If the corpus does not tell classes, or gives no single examples.
    """

    task, metric = "classify", "accuracy"

    def __init__(self, corpus: Any, classes: Sequence[int], each: int | None = None, seed: int = 0) -> None:
        able = isinstance(corpus, KnowsClasses) and isinstance(corpus, GivesItems)
        if not able or corpus.task != self.task:
            raise ConfigError(f"data {corpus.name!r}: its examples have no class each, or cannot be read one by one")
        self.corpus = corpus
        self.number = torch.full((max(len(corpus.labels), *classes) + 1,), IGNORED)
        self.number[list(classes)] = torch.arange(len(classes))
        self.labels = [corpus.labels[place] for place in classes]
        self.classes = {split: self.number[corpus.classes_of(split).long()] for split in corpus.sizes}
        self.chosen = {split: (own >= 0).nonzero().flatten() for split, own in self.classes.items()}
        if each is not None:
            self.chosen["train"] = self._drawn(each, seed)
        self.sizes = {split: len(places) for split, places in self.chosen.items()}
        self.name, self.description = corpus.name, corpus.description
        self.fingerprint = f"{corpus.fingerprint}-{'+'.join(map(str, classes))}-{each}-{seed}"

    def _drawn(self, each: int, seed: int) -> Int[Tensor, " n"]:
        places = self.chosen["train"]
        order = places[torch.randperm(len(places), generator=torch.Generator().manual_seed(seed))]
        return order[first_of_each(self.classes["train"][order], [each] * len(self.labels))]

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        found: dict[str, Any] = self.corpus.overrides() | {"num_classes": len(self.labels)}
        return found

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Int[Tensor, " b"]]:
        """See `Corpus.epoch`."""
        return torch.randperm(self.sizes["train"], generator=generator).split(batch_size)

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """See `Corpus.batch`."""
        return self._numbered(self.corpus.batch(self.chosen["train"][index], generator))

    def items(self, split: str, places: Sequence[int]) -> Batch:
        """See `GivesItems.items`."""
        return self._numbered(self.corpus.items(split, self.chosen[split][list(places)].tolist()))

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """See `KnowsClasses.placed`."""
        for some in torch.arange(self.sizes[split]).split(batch_size):
            yield some.tolist(), self.items(split, some.tolist())

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """See `Corpus.held_out`."""
        return (batch for _, batch in self.placed(split, batch_size))

    def classes_of(self, split: str) -> Int[Tensor, " n"]:
        """See `KnowsClasses.classes_of`."""
        return self.classes[split][self.chosen[split]]

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`."""
        loss: Tensor = self.corpus.loss(answer, target, smoothing)
        return loss

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `Corpus.score`."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")

    def save(self, folder: Path) -> None:
        """See `Corpus.save`: names of the classes, and what else predictions need."""
        self.corpus.save(folder)
        write_text(folder / "labels.json", json.dumps(self.labels, ensure_ascii=False) + "\n")

    def _numbered(self, batch: Batch) -> Batch:
        known = batch.target != IGNORED
        return batch._replace(target=self.number[batch.target.where(known, 0).long()].where(known, IGNORED))
