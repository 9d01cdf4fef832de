"""Subsets of the training examples with classes of unequal size."""

from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch

from zoo.data.corpus import Corpus
from zoo.data.labelling.known_classes import first_of_each
from zoo.data.subsets import Chosen


@runtime_checkable
class DrawsClasses(Protocol):
    """A corpus with such subsets of its own, such as one that makes examples when they are asked for."""

    def subset_of_classes(self, counts: Sequence[int], seed: int, augment: bool) -> Corpus:
        """Give the same data with fewer training examples; of one seed, fewer of a class are among more."""


def subset_of_classes(corpus: Corpus, counts: Sequence[int], seed: int, augment: bool = False) -> Corpus:
    """Give a corpus with fewer training examples.

    Args:
        corpus: which `KnowsClasses`.
        counts: training examples of each class.
        seed: draws them; of one seed, fewer of a class are among more.
        augment: whether they are changed at random, where the corpus leaves the choice.
    """
    if isinstance(corpus, DrawsClasses):
        return corpus.subset_of_classes(counts, seed, augment)
    classes = cast(Any, corpus).classes_of("train")
    order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))
    chosen = order[first_of_each(classes[order], counts)]
    return cast(Corpus, Chosen(corpus, chosen, f"{'-'.join(map(str, counts))}-{seed}"))
