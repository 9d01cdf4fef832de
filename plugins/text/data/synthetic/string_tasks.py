"""Strings of letters to reverse or to copy, and a corpus that reports its score by their length."""

import random
from collections.abc import Callable

from torch import nn

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus

ALPHABET = "abcdefghij"
LENGTHS = (3, 12)
"""Of the strings in training."""
_PER_LENGTH = {"train": 2000, "validation": 50, "test": 100}
_LONGEST = 512
_TRAINED_SHARE = 0.6
"""Most of all strings of one length that are trained on, where there are few."""


class StringsCorpus(ParallelCorpus):
    """Serve strings; those of the test reach twice the length of the training's, and are reported by length.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the letters.
        parts: the strings.
        longest: the longest string in training.
    """

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer, parts: Parts[Pair], longest: int
    ) -> None:
        super().__init__(about, spec, tokenizer, parts, metric="exact match")
        self.longest = longest

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of strings written without a mistake: of trained lengths, of longer ones, and of each.

        None of the strings was trained on. The tokens are scored, too, given the right ones before them.
        """
        written = self.write(model, split, batch_size)
        found = self.metrics_of([each for each in written if len(each.pair.source) <= self.longest])
        longer = [each for each in written if len(each.pair.source) > self.longest]
        if longer:
            found |= _named(self.metrics_of(longer), "longer")
        for length in sorted({len(each.pair.source) for each in written}):
            group = [each for each in written if len(each.pair.source) == length]
            found |= _named(self.metrics_of(group), f"length {length}")
        return found | self.token_metrics(model, split, batch_size)


def lengths_of(argument: str, name: str) -> tuple[int, int]:
    """Read `MIN-MAX`, the lengths of the strings in training.

    Raises:
        DataError: If it is no such text, or the lengths do not fit.
    """
    if not argument:
        return LENGTHS
    low, _, high = argument.partition("-")
    if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= _LONGEST):
        raise DataError(f"'{name}:{argument}': lengths are MIN-MAX, such as 3-12, from 1 to {_LONGEST}")
    return int(low), int(high)


def draw_pairs(lengths: tuple[int, int], change: Callable[[str], str], seed: int) -> Parts[Pair]:
    """Draw strings for training, validation and test, no two alike; the test's reach twice the longest length."""
    rng = random.Random(seed)
    low, high = lengths
    parts: dict[str, list[Pair]] = {part: [] for part in _PER_LENGTH}
    for length in range(low, 2 * high + 1):
        wanted = dict(_PER_LENGTH) if length <= high else {"test": _PER_LENGTH["test"]}
        drawn = _distinct(rng, length, sum(wanted.values()))
        for part, count in _shares(wanted, len(drawn)).items():
            parts[part] += [Pair(text, change(text)) for text in drawn[:count]]
            drawn = drawn[count:]
    return Parts(parts["train"], parts["validation"], parts["test"])


def _distinct(rng: random.Random, length: int, count: int) -> list[str]:
    possible = len(ALPHABET) ** length
    found: dict[str, None] = {}
    while len(found) < min(count, possible):
        found["".join(rng.choices(ALPHABET, k=length))] = None
    return list(found)


def _shares(wanted: dict[str, int], count: int) -> dict[str, int]:
    """Share out strings of which there may be too few."""
    if count >= sum(wanted.values()):
        return wanted
    trained = int(count * _TRAINED_SHARE)
    validated = min(wanted["validation"], (count - trained) // 2)
    return {"train": trained, "validation": validated, "test": min(wanted["test"], count - trained - validated)}


def _named(scores: dict[str, float], group: str) -> dict[str, float]:
    return {f"{name}, {group}": value for name, value in scores.items()}
