"""`KnowsClasses`: corpora that tell the class of each example; and the choice of examples by class."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from zoo.data.corpus import Batch


@runtime_checkable
class KnowsClasses(Protocol):
    """A corpus whose examples have one of several classes each, which it tells without reading inputs."""

    def classes_of(self, split: str) -> Int[Tensor, " n"]:
        """Give the class of each example of a split, by its index; -100 where it has none."""

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """Give the batches of `Corpus.held_out`, each with the indices of its examples."""


def rank_in_class(classes: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    """Count, for each example, those of its class before it."""
    by_class = np.argsort(classes, kind="stable")
    counts = np.bincount(classes)
    rank = np.empty(len(classes), np.int64)
    rank[by_class] = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank


def first_of_each(classes: Int[Tensor, " n"], counts: Sequence[int]) -> Int[Tensor, " m"]:
    """Give the places of the first examples of each class, so many of each, in order; -100 is no class."""
    known = (classes >= 0).nonzero().flatten()
    own = classes[known].long().numpy()
    return known[torch.from_numpy(rank_in_class(own) < np.asarray(counts)[own])]
