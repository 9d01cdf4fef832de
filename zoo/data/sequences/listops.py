"""ListOps, arXiv:1804.06028, by the grammar of the Long Range Arena (arXiv:2011.04006 sec. 2.2.1), seeded.

`[MAX 2 9 [MIN 4 7 ] 0 ]` is 9. A tree is a digit with probability .75, else one of four operators on 2 to 10 trees;
the median of an even number of digits is cut off to a whole one. Trees are drawn until the length fits. Few levels of a
tree decide most answers, so that accuracies mean little without those that a shortcut reaches: knowing the first
operator only gives .36 of the arena's lengths.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor

from zoo.core import IGNORED
from zoo.data.sequences.task import Drawn
from zoo.errors import ConfigError

OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda digits: int(median(digits)),
    "[SM": lambda digits: sum(digits) % 10,
}
DIGITS = tuple(map(str, range(10)))
END, QUESTION = "]", "?"
WORDS = (*DIGITS, *OPERATORS, END, QUESTION)
_IDS = {word: number for number, word in enumerate(WORDS)}
LEAF = 0.75
"""Probability that a tree is a digit."""
SAMPLE = 4000
"""Trees by which shortcuts learn, and as many by which they are scored."""


class Expression(NamedTuple):
    """Hold an expression.

    Args:
        words: of it.
        value: a digit.
        operator: the first word.
        digits: that stand directly below the first operator.
    """

    words: list[str]
    value: int
    operator: str = ""
    digits: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ListOps:
    """Compute nested lists of digits; the question comes last.

    Args:
        shortest: words of an expression, at least.
        longest: words, at most.
        depth: of operators, at most.
        arguments: of an operator, at most.

    Raises:
        ConfigError: If no expression has such a length.
    """

    shortest: int = 16
    longest: int = 127
    depth: int = 10
    arguments: int = 10

    def __post_init__(self) -> None:
        if not 4 <= self.shortest <= self.longest or self.depth < 2 or self.arguments < 2:
            raise ConfigError(
                f"shortest={self.shortest}, longest={self.longest}, depth={self.depth}, arguments={self.arguments}: an "
                "expression has an operator, two digits and an end, and lies below at least one level"
            )

    @classmethod
    def arena(cls) -> "ListOps":
        """Give the task of the Long Range Arena: 500 to 2,000 words."""
        return cls(shortest=501, longest=1999)

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return WORDS

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return DIGITS

    @property
    def length(self) -> int:
        """See `SequenceTask.length`."""
        return self.longest + 1

    def expressions(self, seed: int) -> Iterator[Expression]:
        """Draw expressions without end."""
        rng = random.Random(seed)
        while True:
            drawn = self._tree(rng, 1, self.longest)
            if drawn and len(drawn.words) >= self.shortest:
                yield drawn

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        seed = int(torch.randint(2**62, (), generator=generator))
        drawn = [each for each, _ in zip(self.expressions(seed), range(count), strict=False)]
        rows = [torch.tensor([_IDS[word] for word in (*each.words, QUESTION)]) for each in drawn]
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return Drawn(ids, lengths, _at_end(ids, lengths, torch.tensor([each.value for each in drawn])))

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`; each learns from drawn expressions and is scored on others."""
        return _shortcuts(self)

    def _tree(self, rng: random.Random, level: int, room: int) -> Expression | None:
        """Draw a tree; None as soon as it is longer than `room`, since most are, by far."""
        if level >= self.depth or rng.random() < LEAF:
            digit = rng.randrange(10)
            return Expression([DIGITS[digit]], digit) if room > 0 else None
        operator, parts = rng.choice(tuple(OPERATORS)), []
        words = [operator]
        for _ in range(rng.randint(2, self.arguments)):
            part = self._tree(rng, level + 1, room - 1 - len(words))
            if part is None:
                return None
            parts.append(part)
            words += part.words
        value = OPERATORS[operator]([part.value for part in parts])
        return Expression([*words, END], value, operator, tuple(part.value for part in parts if not part.operator))


@cache
def _shortcuts(task: ListOps) -> Mapping[str, float]:
    drawn = [each for each, _ in zip(task.expressions(1), range(2 * SAMPLE), strict=False)]
    seen: Mapping[str, Callable[[Expression], Hashable]] = {
        "guessing the most frequent digit": lambda _: None,
        "the first operator": lambda each: each.operator,
        "the first operator and its own digits": lambda each: (
            each.operator,
            OPERATORS[each.operator](each.digits) if each.digits else None,
        ),
    }
    return {name: _reached(drawn[:SAMPLE], drawn[SAMPLE:], what) for name, what in seen.items()}


def _reached(known: Sequence[Expression], asked: Sequence[Expression], what: Callable[[Expression], Hashable]) -> float:
    """Give how often the most frequent value of what is seen is right."""
    counts: dict[Hashable, Counter[int]] = {}
    for each in known:
        counts.setdefault(what(each), Counter())[each.value] += 1
    best = {seen: values.most_common(1)[0][0] for seen, values in counts.items()}
    return sum(best.get(what(each)) == each.value for each in asked) / len(asked)


def _at_end(ids: Tensor, lengths: Tensor, classes: Tensor) -> Tensor:
    targets = torch.full_like(ids, IGNORED)
    targets[torch.arange(len(ids)), lengths - 1] = classes
    return targets
