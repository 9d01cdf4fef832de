"""Texts that a model wrote, against references: BLEU and chrF of sacrebleu, or error rates of words and characters."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zoo.data.items import Written
from zoo.evaluation.judge import Index, Item, Numbers, Scores, Table
from zoo.registry.entry_loading import require
from zoo.spec import Requirement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SACREBLEU = Requirement(module="sacrebleu", distribution="sacrebleu", install="attention-zoo[text]")
TORCHAUDIO = Requirement(module="torchaudio", distribution="torchaudio", install="attention-zoo[speech]")


class _WrittenJudge:
    """Describe what was written; sub-classes judge it.

    Args:
        items: examples.
        written: for each.
    """

    def __init__(self, items: Sequence[Item], written: Sequence[Written]) -> None:
        self._items, self.written = items, written
        self.exact = np.array([each.text in each.wanted for each in written], float)

    @property
    def items(self) -> Sequence[Item]:
        """See `Judge.items`."""
        return self._items

    def losses(self) -> Numbers:
        """See `Judge.losses`."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """See `Judge.rows`."""
        return [
            {"input": each.source, "wanted": " | ".join(each.wanted), "found": each.text}
            | {"loss": float(loss), "right": bool(right)}
            for each, loss, right in zip(self.written, self.losses(), self.exact, strict=True)
        ]

    def figures(self) -> "Mapping[str, Figure]":
        """See `Judge.figures`: none."""
        return {}

    def tables(self) -> Sequence[Table]:
        """See `Judge.tables`: none."""
        return ()


class TranslationJudge(_WrittenJudge):
    """Judge texts by BLEU (arXiv:1804.08771) and chrF (doi:10.18653/v1/W15-3049), whose counts are summed over items.

    Args:
        items: examples.
        written: for each, with its references.
        units: how BLEU parts texts, a tokenisation of sacrebleu. Of texts shorter than four words only the n-grams
            that there are count (sacrebleu's `effective_order`), as in training.
    """

    def __init__(self, items: Sequence[Item], written: Sequence[Written], units: str) -> None:
        require("zoo evaluate", (SACREBLEU,))
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        super().__init__(items, written)
        texts = [each.text for each in written]
        references = [list(stream) for stream in zip_longest(*(each.wanted for each in written))]
        self.metrics: dict[str, Any] = {"BLEU": BLEU(tokenize=units, force=True, effective_order=True), "chrF": CHRF()}
        self.counts: dict[str, NDArray[np.int64]] = {
            # what sacrebleu sums for its own bootstrap, which draws with a seed of the environment
            name: np.array(metric._extract_corpus_statistics(texts, references))
            for name, metric in self.metrics.items()
        }

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        made = {name: self._score(name, self.counts[name][chosen]) for name in self.metrics}
        return made | {"exact match": float(self.exact[chosen].mean())}

    def _score(self, name: str, counts: NDArray[np.int64]) -> float:
        return float(self.metrics[name]._aggregate_and_compute([counts.sum(0).tolist()]).score)

    def losses(self) -> Numbers:
        """See `Judge.losses`: 100 less the chrF of each text."""
        return np.array([100 - self._score("chrF", row[None]) for row in self.counts["chrF"]])


class TranscriptJudge(_WrittenJudge):
    """Judge transcripts by error rates: edit distance of words and of characters over the length of the reference.

    Args:
        items: examples.
        written: for each, with one reference.
    """

    def __init__(self, items: Sequence[Item], written: Sequence[Written]) -> None:
        require("zoo evaluate", (TORCHAUDIO,))
        from torchaudio.functional import edit_distance

        super().__init__(items, written)
        self.exact = np.array([each.text.split() == each.wanted[0].split() for each in written], float)
        pairs = [(each.text, each.wanted[0]) for each in written]
        words = [(edit_distance(one.split(), other.split()), len(other.split())) for one, other in pairs]
        characters = [(edit_distance(one, other), len(other)) for one, other in pairs]
        self.edits: NDArray[np.float64] = np.array([[*a, *b] for a, b in zip(words, characters, strict=True)], float)

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        words, of_words, characters, of_characters = self.edits[chosen].sum(0)
        return {
            "word error rate": words / of_words if of_words else float("nan"),
            "character error rate": characters / of_characters if of_characters else float("nan"),
            "exact match": float(self.exact[chosen].mean()),
        }

    def losses(self) -> Numbers:
        """See `Judge.losses`: the character error rate of each."""
        rate: Numbers = self.edits[:, 2] / np.maximum(self.edits[:, 3], 1)
        return rate


class Both:
    """Judge what a model writes on its own, and its tokens given the right ones.

    Args:
        first: whose losses tell the worst items.
        second: of the same items.
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        numbers = {item: number for number, item in enumerate(second.items)}
        self.at = np.array([numbers[item] for item in first.items], np.int64)

    def __getattr__(self, name: str) -> Any:
        """Give what the first has."""
        if name == "first":
            raise AttributeError(name)
        return getattr(self.first, name)

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        made: Scores = self.first.scores(chosen) | self.second.scores(self.at[chosen])
        return made
