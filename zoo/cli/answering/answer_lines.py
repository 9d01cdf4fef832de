"""Answers as lines of a terminal, of CSV, or of JSON, one input after the other."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from zoo.answers import Filled, as_json, best
from zoo.cli.answering.thresholds import Thresholds
from zoo.errors import ConfigError

FORMATS = ("text", "csv", "jsonl")
SHOWN = 3
"""Labels of an input on a terminal, where the user sets no number."""


class AnswerLines:
    """Write answers in a format.

    Args:
        kind: `text`, `csv` or `jsonl`.
        top: labels of an input; by default three in `text`, one in `csv`, all in `jsonl`.

    Raises:
        ConfigError: If there is no such format.
    """

    several: Thresholds | None = None
    """Chooses the labels of an input that may have any number.

    `csv` and `jsonl` hold the probabilities of all labels, and `chosen`, the labels above their thresholds. In `csv`
    the columns are in the order of the alphabet, for answers are in that of their probabilities.
    """

    numbers: bool = False
    """Whether an answer by name holds numbers, as of a regression: all of them are written, in their order."""

    def __init__(self, kind: str, top: int | None) -> None:
        if kind not in FORMATS:
            raise ConfigError(f"--format {kind!r} is not one of {', '.join(FORMATS)}")
        self.kind, self.top, self._columns = kind, top, list[str]()

    def line(self, given: Any, answer: Any) -> str:
        """Write the answer to an input, with its line end; in CSV the first brings the header."""
        if self.kind == "jsonl":
            name = list(given) if isinstance(given, tuple) else given
            chosen = {"chosen": [label for label, _ in self.several.chosen(answer)]} if self.several else {}
            return json.dumps({"input": name, **as_json(answer, self.top), **chosen}, ensure_ascii=False) + "\n"
        name = "\t".join(given) if isinstance(given, tuple) else given
        return (self._csv if self.kind == "csv" else self._text)(name, answer)

    def _text(self, name: str, answer: Any) -> str:
        if isinstance(answer, Mapping):
            shown = self.several.chosen(answer) if self.several else self._shown(answer)
            return f"{name}\t" + ("  ".join(f"{label} {chance:.3f}" for label, chance in shown) or "(none)") + "\n"
        if isinstance(answer, Filled):
            lines = ["  ".join(f"{token} {chance:.3f}" for token, chance in mask) for mask in answer.masks]
            return "\n".join([answer.text, *(f"  mask {n}\t{line}" for n, line in enumerate(lines, start=1))]) + "\n"
        if isinstance(answer, str):
            return answer + "\n"
        if isinstance(answer, float):
            return f"{name}\t{answer:.3f}\n"
        words = name.split()
        if len(words) != len(answer):
            return f"{name}\t{' '.join(map(str, answer))}\n"
        return "\n".join(f"{word}\t{tag}" for word, tag in zip(words, answer, strict=True)) + "\n\n"

    def _shown(self, answer: Mapping[str, float]) -> list[tuple[str, float]]:
        return [*answer.items()] if self.numbers else best(answer, self.top or SHOWN)

    def _csv(self, name: str, answer: Any) -> str:
        cells = self._cells(answer)
        columns, values = ([pair[place] for pair in cells] for place in (0, 1))
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        if not self._columns:
            rows.writerow(["input", *columns])
            self._columns = columns
        if columns != self._columns[: len(columns)]:
            raise ConfigError(
                f"--format csv: {name[:80]!r} has the column {columns[-1]!r}, which the header, of the first answer, "
                "lacks: put the input with the most masks first, or use --format jsonl"
            )
        rows.writerow([name, *values, *[""] * (len(self._columns) - len(values))])
        return text.getvalue()

    def _cells(self, answer: Any) -> list[tuple[str, Any]]:
        """Give the cells of a row, each behind its column."""
        if isinstance(answer, Filled):
            ranked = [(f"mask_{n}_", mask) for n, mask in enumerate(answer.masks, start=1)]
            return [("text", answer.text), *(pair for head, mask in ranked for pair in _ranks(head, mask))]
        if isinstance(answer, Mapping):
            if self.several:
                chosen = ";".join(label for label, _ in self.several.chosen(answer))
                return [*sorted(answer.items()), ("chosen", chosen)]
            if self.numbers:
                return [*answer.items()]
            found = best(answer, self.top or 1)
            columns = ("label", "probability")
            return _ranks("", found) if len(found) > 1 else list(zip(columns, found[0], strict=True))
        if isinstance(answer, str | float):
            return [("text" if isinstance(answer, str) else "score", answer)]
        return [("tags", " ".join(map(str, answer)))]


def _ranks(head: str, found: list[tuple[str, float]]) -> list[tuple[str, Any]]:
    pairs = enumerate(found, start=1)
    return [each for n, (label, p) in pairs for each in ((f"{head}label_{n}", label), (f"{head}probability_{n}", p))]
