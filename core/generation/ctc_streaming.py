"""Greedy CTC decoding of a stream: `zoo.core.generation.ctc_greedy.greedy`, a few vectors at a time.

Axes: b rows, n new vectors.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.losses.ctc import ctc_log_probs
from zoo.core.special_tokens import SYMBOLS, Symbols


class Transcript:
    """Merge repeats and leave out blanks, of vectors that come bit by bit: all that is kept is the last token.

    Args:
        symbols: padding, which is the blank, begin and end.
    """

    def __init__(self, symbols: Symbols = SYMBOLS) -> None:
        self.symbols = symbols
        self.last: Tensor | None = None
        """Token or blank of the last vector of each row."""

    def push(self, scores: Float[Tensor, "b n vocab"]) -> list[Int[Tensor, " tokens"]]:
        """Give the tokens that are new in each row.

        Args:
            scores: of each token for each vector, before the softmax.
        """
        b, n, _ = scores.shape
        path = ctc_log_probs(scores, torch.full((b,), n), self.symbols).argmax(-1)
        before = path.new_full((b, 1), self.symbols.pad) if self.last is None else self.last
        line = torch.cat([before, path], dim=1)
        self.last = line[:, -1:].clone()
        kept = (path != self.symbols.pad) & (path != line[:, :-1])
        return [row[new] for row, new in zip(path, kept, strict=True)]
