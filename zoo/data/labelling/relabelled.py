"""`Relabelled`: a corpus with other labels of the training and the validation examples."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.data.batches.batched_corpus import evaluation_mode
from zoo.data.corpus import Batch
from zoo.data.metrics.token_metrics import token_scores


class Relabelled:
    """Give the examples of a corpus with other labels; all else, the test too, is as the corpus has it.

    Args:
        corpus: which `KnowsClasses`.
        classes: the label of each example of `train` and `validation`, by its index; -100 leaves one out of the score.
    """

    def __init__(self, corpus: Any, classes: Mapping[str, Int[Tensor, " n"]]) -> None:
        self.corpus = corpus
        self.classes = classes
        self.own = {split: corpus.classes_of(split) for split in classes}

    def __getattr__(self, name: str) -> Any:
        """Give what the corpus has; `copy` and `pickle` ask for special methods before there is a corpus."""
        if name == "corpus" or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.corpus, name)

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give training examples."""
        return self._relabelled("train", index, self.corpus.batch(index, generator))

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Give the examples of a split."""
        if split not in self.classes:
            yield from self.corpus.held_out(split, batch_size)
            return
        for places, batch in self.corpus.placed(split, batch_size):
            yield self._relabelled(split, torch.as_tensor(places), batch)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of labels that the model ranks first, and the loss."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def _relabelled(self, split: str, index: Int[Tensor, " b"], batch: Batch) -> Batch:
        """Change the labels, but of an example that cannot be read: another stands in its place, or none."""
        is_own = batch.target == self.own[split][index]
        given = self.classes[split][index].to(batch.target.dtype)
        return batch._replace(target=torch.where(is_own, given, batch.target))
