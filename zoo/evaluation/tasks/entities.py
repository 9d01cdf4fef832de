"""Labels of words that mark entities, in the schemes BIO, IOB, IOBES and BILOU: precision, recall and F1 of entities.

An entity is found where its kind, its first and its last word are, as `conlleval` of CoNLL-2003 counts. scikit-learn
knows labels alone; the library that counts entities, seqeval, is kept up no more.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from zoo.evaluation.judge import Answers, Index, Scores
from zoo.evaluation.tasks.classes import ClassJudge

_BEGINS, _ENDS, _MARKS = "BSU", "ESLU", "BIESLUM"
"""Marks of a first word, of a last word, and all; O stands outside."""


class EntityJudge(ClassJudge):
    """Judge labels of words, and the entities that they mark.

    Args:
        answers: probabilities of the labels of words (r, k), and the right ones.
        labels: such as `O`, `B-PER`, `I-PER`.
    """

    def __init__(self, answers: Answers, labels: Sequence[str]) -> None:
        super().__init__(answers, labels)
        names = np.array(labels, object)
        wanted, found = names[answers.targets], names[self.predicted]
        counted = [_counts(list(wanted[at]), list(found[at])) for at in answers.each()]
        self.counted = np.array(counted, np.int64).reshape(-1, 3)

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`: those of entities first."""
        both, found, wanted = self.counted[chosen].sum(0)
        made = {
            "entity F1": 2 * both / (found + wanted) if found + wanted else float("nan"),
            "entity precision": both / found if found else float("nan"),
            "entity recall": both / wanted if wanted else float("nan"),
        }
        return {name: float(score) for name, score in made.items()} | super().scores(chosen)


def marks_entities(labels: Sequence[str]) -> bool:
    """Tell whether labels are of such a scheme: O, and others with a mark, a hyphen and a kind."""
    marked = [label for label in labels if label != "O"]
    return len(marked) < len(labels) and bool(marked) and all(
        len(label) > 2 and label[0] in _MARKS and label[1] == "-" for label in marked
    )  # fmt: skip


def entities(labels: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Give kind, first and last word of each entity.

    One begins with a mark of a first word, and where the kind changes or nothing is before it; it ends with a mark of a
    last word, and before what does not go on with it.
    """
    start, kind = -1, ""
    for place, label in enumerate([*labels, "O"]):
        mark, _, now = label.partition("-")
        goes_on = start >= 0 and now == kind and mark not in (*_BEGINS, "O")
        if start >= 0 and not goes_on:
            yield kind, start, place - 1
            start = -1
        if mark != "O" and start < 0:
            start, kind = place, now
        if start >= 0 and mark in _ENDS:
            yield kind, start, place
            start = -1


def _counts(wanted: Sequence[str], found: Sequence[str]) -> tuple[int, int, int]:
    """Count entities that are right, that were found, and that were wanted."""
    true, mine = set(entities(wanted)), set(entities(found))
    return len(true & mine), len(mine), len(true)
