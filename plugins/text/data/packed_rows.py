"""`PackedRows`: documents one after another in rows of one length, without padding, for models of language."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from zoo.core import IGNORED
from zoo.data import Batch, RaggedIds, offsets_of


class PackedRows:
    """Cut documents, one behind the other, into rows of `length` tokens and the one that follows on them.

    A document that does not fit goes on in the next row, where its positions start again at 0 and what stands before is
    not read. Only the last row may be shorter. Each token but the first of each document is a target once.

    Args:
        documents: each with its begin and end.
        length: of a row, tokens.
    """

    def __init__(self, documents: RaggedIds, length: int) -> None:
        self.documents = documents
        self.length = max(1, min(length, len(documents.flat) - 1))

    def __len__(self) -> int:
        return -(-(len(self.documents.flat) - 1) // self.length)

    @property
    def lengths(self) -> Int[Tensor, " rows"]:
        """Length of each row, without the token behind it."""
        lengths = torch.full((len(self),), self.length, dtype=torch.int32)
        lengths[-1] = len(self.documents.flat) - 1 - (len(self) - 1) * self.length
        return lengths

    def batch(self, places: Sequence[int], pad: int) -> Batch:
        """Give rows: their tokens and the number of each token's document, 0 for padding; and the tokens that follow.

        What follows on the end of a document, the begin of the next, is no target.
        """
        ids = torch.full((len(places), self.length), pad)
        numbers = torch.zeros_like(ids)
        target = torch.full_like(ids, IGNORED)
        for row, place in enumerate(places):
            tokens, number = self._row(place)
            n = len(tokens) - 1
            ids[row, :n], numbers[row, :n] = tokens[:-1], number[:-1]
            target[row, :n] = tokens[1:].where(number[1:] == number[:-1], IGNORED)
        longest = int((numbers > 0).sum(1).max())
        return Batch((ids[:, :longest], numbers[:, :longest]), target[:, :longest])

    def _row(self, place: int) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        flat, offsets = self.documents.flat, self.documents.offsets
        start = place * self.length
        tokens = flat[start : start + self.length + 1].astype(np.int64)
        first, last = np.searchsorted(offsets, (start, start + len(tokens) - 1), side="right")
        begins = torch.zeros(len(tokens), dtype=torch.long)
        begins[torch.from_numpy(offsets[first:last] - start)] = 1
        return torch.from_numpy(tokens), begins.cumsum(0) + 1


def cut(rows: RaggedIds, length: int, overlap: int = 0) -> RaggedIds:
    """Cut rows that are longer into pieces, of which each begins with the last tokens of the one before.

    Args:
        rows: of any length; those of no more tokens than overlap are left out.
        length: of a piece, without what overlaps.
        overlap: tokens that two pieces share.
    """
    lengths = np.diff(rows.offsets)
    counts = np.maximum(0, -(-(lengths - overlap) // length))
    if (counts == 1).all():
        return rows
    piece = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    starts = np.repeat(rows.offsets[:-1], counts) + piece * length
    ends = np.minimum(starts + length + overlap, np.repeat(rows.offsets[1:], counts))
    offsets = offsets_of(ends - starts)
    place = np.repeat(starts - offsets[:-1], ends - starts) + np.arange(offsets[-1])
    return RaggedIds.of(rows.flat[place], offsets)
