"""`Evaluation`: the scores of a run on data with intervals, by group, and its answers; as data, table and page."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.atomic_write import atomic_path
from zoo.bench.decision.bootstrap import Interval
from zoo.errors import ConfigError
from zoo.evaluation.judge import Judge
from zoo.version import __version__
from zoo.weights.card import EVALUATION

if TYPE_CHECKING:
    from zoo.evaluation.report.worst import Shown

Estimates = dict[str, Interval]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a run is worth on data.

    Args:
        run: its name.
        model: name of the model.
        data: name of the data.
        split: that was judged.
        count: examples that were judged.
        scores: with bootstrap intervals of 95 %.
        own: scores that the data give themselves, without intervals.
        by: the column of the groups; None for none.
        groups: scores of each group.
        small: sizes of groups that are too small to be judged.
        notes: what the reader has to know.
        judge: of the answers; None where the data alone can judge.
        cells: of the column, one for each item.
        worst: examples with the worst answers, drawn.
        settings: how intervals were made.
        held_out: whether what was judged is the test split of the training, of which nothing was trained on.
    """

    run: str
    model: str
    data: str
    split: str
    count: int
    scores: Estimates
    own: Mapping[str, float]
    by: str | None = None
    groups: Mapping[str, Estimates] = field(default_factory=dict)
    small: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    judge: Judge | None = field(default=None, repr=False)
    cells: Sequence[Any] = field(default=(), repr=False)
    worst: "Sequence[Shown]" = field(default=(), repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give all but the items as JSON values; an interval is a list of its ends."""
        return {
            "run": self.run,
            "model": self.model,
            "data": self.data,
            "split": self.split,
            "items": self.count,
            "scores": _plain(self.scores),
            "scores_of_the_data": dict(self.own),
            "by": self.by,
            "groups": {name: _plain(scores) for name, scores in self.groups.items()},
            "small_groups": dict(self.small),
            "notes": list(self.notes),
            "settings": dict(self.settings),
            "zoo_version": __version__,
        }

    def items(self) -> list[dict[str, Any]]:
        """Give a row for each item: where it is, its group, what was wanted and what was found."""
        if self.judge is None:
            return []
        rows = []
        for place, (item, row) in enumerate(zip(self.judge.items, self.judge.rows(), strict=True)):
            group = {self.by: self.cells[place]} if self.by else {}
            rows.append({"split": item.split, "index": item.place} | group | row)
        return rows

    def to_dataframe(self) -> Any:
        """Give the items as a frame of pandas, which has to be installed."""
        from importlib import import_module

        return import_module("pandas").DataFrame(self.items())

    def to_csv(self, path: str | Path) -> Path:
        """Write the items to a file.

        Raises:
            ConfigError: If the file cannot be written, or the data judge no single items.
        """
        rows = self.items()
        if not rows:
            raise ConfigError(
                f"{str(path)!r}: the data {self.data!r} judge no single items, so there are none to write"
            )
        text = io.StringIO()
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return _written(Path(path), text.getvalue())

    def report(self, path: str | Path, command: str = "") -> Path:
        """Write a page that needs no network.

        Args:
            path: of the HTML file.
            command: that makes it again.

        Raises:
            ConfigError: If the file cannot be written.
        """
        from zoo.evaluation.report.page import page

        return _written(Path(path), page(self, command))

    def keep(self, folder: str | Path) -> Path:
        """Write the scores beside the weights, for the card of `zoo push`, until other weights are saved there.

        Raises:
            ConfigError: If the file cannot be written.
        """
        return _written(Path(folder) / EVALUATION, json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {score}" for name, score in self.scores.items())
        return f"Evaluation({self.run}, {self.count:,} of {self.data}: {told})"


def _plain(scores: Estimates) -> dict[str, Any]:
    return {name: {"value": one.value, "interval": [one.low, one.high]} for name, one in scores.items()}


def _written(path: Path, text: str) -> Path:
    try:
        with atomic_path(path) as scratch:
            scratch.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error}") from error
    return path
