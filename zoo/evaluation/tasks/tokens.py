"""Tokens under teacher forcing: perplexity, bits per character and accuracy of tokens."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.evaluation.judge import Index, Item, Numbers, Scores, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TokenSums(NamedTuple):
    """What a model made of the tokens of an item.

    Args:
        loss: sum of the cross-entropies of its tokens, in nats.
        right: tokens that rank first.
        number: tokens.
        characters: of the text that all its tokens write; 0 where nobody knows, or only some tokens are asked for.
    """

    loss: float
    right: int
    number: int
    characters: int = 0


class TokenJudge:
    """Judge tokens, each given the right ones before it or around it.

    Args:
        items: texts.
        sums: of each.
    """

    def __init__(self, items: Sequence[Item], sums: Sequence[TokenSums]) -> None:
        self._items = items
        self.sums: NDArray[np.float64] = np.array(sums, float).reshape(-1, 4)

    @property
    def items(self) -> Sequence[Item]:
        """See `Judge.items`."""
        return self._items

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        loss, right, count, characters = self.sums[chosen].sum(0)
        if not count:
            return dict.fromkeys(("perplexity", "token accuracy"), float("nan"))
        made = {"perplexity": math.exp(min(loss / count, 700.0)), "token accuracy": right / count}
        if characters:
            made["bits per character"] = loss / math.log(2) / characters
        return made

    def losses(self) -> Numbers:
        """See `Judge.losses`: the mean cross-entropy of an item's tokens."""
        mean: Numbers = self.sums[:, 0] / np.maximum(self.sums[:, 2], 1)
        return mean

    def rows(self) -> list[dict[str, Any]]:
        """See `Judge.rows`."""
        return [
            {"perplexity": math.exp(min(loss, 700.0)), "tokens": int(count), "loss": float(loss)}
            for loss, count in zip(self.losses(), self.sums[:, 2], strict=True)
        ]

    def figures(self) -> "Mapping[str, Figure]":
        """See `Judge.figures`: none."""
        return {}

    def tables(self) -> Sequence[Table]:
        """See `Judge.tables`: none."""
        return ()
