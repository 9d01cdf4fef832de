"""`Prefix`: the tokens that each row of a batch has read, prompt and answer, without padding between them.

Axes: b rows of the prompt, r rows of its continuations, n tokens of the prompt, t of an answer.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.generation.prompt import Prompt


class Prefix(NamedTuple):
    """Tokens that rows have read, padding before them.

    Args:
        ids: tokens.
        starts: where each row begins; None where all begin at 0.
    """

    ids: Int[Tensor, "r n"]
    starts: Int[Tensor, " r"] | None = None

    @staticmethod
    def of(prompt: Prompt) -> "Prefix":
        """Give the prompts, moved to the end of their rows."""
        if prompt.lengths is None:
            return Prefix(prompt.ids)
        n = prompt.ids.shape[1]
        starts = n - prompt.lengths
        place = torch.arange(n, device=starts.device) - starts[:, None]
        return Prefix(prompt.ids.gather(1, place % n), starts)

    def extended(self, rows: Int[Tensor, " r"], written: Int[Tensor, "r t"]) -> "Prefix":
        """Give what stands behind these rows of the prompt, one of which may have several continuations."""
        starts = None if self.starts is None else self.starts[rows]
        return Prefix(torch.cat([self.ids[rows], written], dim=1), starts)

    def groups(self, live: Bool[Tensor, " r"]) -> Iterator[tuple[Int[Tensor, " g"], Int[Tensor, "g m"]]]:
        """Give the rows of each length, and their tokens without padding.

        Args:
            live: which rows are wanted.
        """
        if self.starts is None:
            index = live.nonzero()[:, 0]
            yield index, self.ids[index]
            return
        for start in self.starts[live].unique().tolist():
            index = (live & (self.starts == start)).nonzero()[:, 0]
            yield index, self.ids[index, start:]
