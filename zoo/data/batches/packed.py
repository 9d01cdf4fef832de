"""Packed batches: inputs that workers send small, such as bytes, and that are unpacked where they are read.

A corpus with a method `packed_batch`, of the same arguments as `batch`, gives batches with such inputs. They are sent
in a fraction of the time, and copied to an accelerator before they are unpacked on it.
"""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from zoo.data.corpus import Batch, Corpus


@runtime_checkable
class Packed(Protocol):
    """An input of a batch that is not yet as the model reads it."""

    def to(self, device: torch.device) -> "Packed":
        """Copy it to a device."""

    def unpacked(self) -> Tensor:
        """Give what the model reads; it follows from this alone."""


def packed_batch(corpus: Corpus, index: Tensor, generator: torch.Generator) -> Batch:
    """Give training examples, see `Corpus.batch`, packed where the class of the corpus can do so."""
    packs = hasattr(type(corpus), "packed_batch")  # not what a wrapper gives of the corpus within
    return corpus.packed_batch(index, generator) if packs else corpus.batch(index, generator)  # type: ignore[attr-defined]


def unpacked(batch: Batch) -> Batch:
    """Give a batch as models read it."""
    return Batch(tuple(each.unpacked() if isinstance(each, Packed) else each for each in batch.inputs), batch.target)
