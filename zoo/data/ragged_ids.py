"""`RaggedIds`: rows of token ids of different lengths in one flat tensor."""

from collections.abc import Sequence

import torch


class RaggedIds:
    """Rows of token ids of different lengths, concatenated: four bytes an id.

    Args:
        rows: of ids.
    """

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self.lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        self.ends = self.lengths.cumsum(0).tolist()
        self.flat = torch.tensor([place for row in rows for place in row], dtype=torch.int32)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> list[int]:
        """Give a row."""
        end = self.ends[place]
        return self.flat[end - int(self.lengths[place]) : end].tolist()
