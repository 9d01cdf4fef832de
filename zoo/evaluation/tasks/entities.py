"""Labels of words that mark entities, in the schemes BIO, IOB, IOBES and BILOU: precision, recall and F1 of entities.

An entity is found where its kind, its first and its last word are, as `conlleval` of CoNLL-2003 counts: a label that
its scheme does not allow, such as I-PER after O, begins an entity. The strict score counts only entities that begin and
end as the scheme says, as seqeval's does. scikit-learn knows labels alone; seqeval, which counts entities, was last
released in 2020 and asks for each text in each draw of a bootstrap, so the tests compare with it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        sentences = [(list(wanted[at]), list(found[at])) for at in answers.each()]
        self.counted = _counts([(set(entities(true)), set(entities(mine))) for true, mine in sentences])
        ends = any(label[0] in _ENDS for label in labels)
        strict = [(set(strict_entities(true, ends)), set(strict_entities(mine, ends))) for true, mine in sentences]
        self.strictly: NDArray[np.int64] | None = _counts(strict)
        """None where what is wanted is not marked so, as in IOB of CoNLL-2003, where I begins most entities."""
        if (self.strictly[:, 2] != self.counted[:, 2]).any():
            self.strictly = None

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`: those of entities first."""
        both, found, wanted = self.counted[chosen].sum(0).tolist()
        made = {
            "entity F1": _f1(both, found, wanted),
            "entity precision": both / found if found else float("nan"),
            "entity recall": both / wanted if wanted else float("nan"),
        }
        if self.strictly is not None:
            made["strict entity F1"] = _f1(*self.strictly[chosen].sum(0).tolist())
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


def strict_entities(labels: Sequence[str], ends: bool) -> Iterator[tuple[str, int, int]]:
    """Give the entities whose first word has a mark of a first word and, in IOBES and BILOU, the last that of a last.

    Args:
        labels: of words.
        ends: whether the scheme marks last words.
    """
    for kind, first, last in entities(labels):
        if labels[first][0] in _BEGINS and (not ends or labels[last][0] in _ENDS):
            yield kind, first, last


def _counts(sentences: Sequence[tuple[set[Any], set[Any]]]) -> NDArray[np.int64]:
    """Count, by sentence, entities that are right, that were found, and that were wanted (n, 3)."""
    rows = [(len(true & mine), len(mine), len(true)) for true, mine in sentences]
    return np.array(rows, np.int64).reshape(-1, 3)


def _f1(both: int, found: int, wanted: int) -> float:
    return 2 * both / (found + wanted) if found + wanted else float("nan")
