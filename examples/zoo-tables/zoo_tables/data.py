"""Rows of CSV files: which columns are numbers, which categories, learned from the training rows."""

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo import DataError, InputError, ModelSpec
from zoo.data import (
    Batch,
    BatchedCorpus,
    DatasetInfo,
    by_text,
    complete,
    evaluation_mode,
    fingerprint,
    names_of,
    token_scores,
    write_text,
)
from zoo.weights import fetch

Row = tuple[str, ...]
"""Cells, empty where they are missing; the label comes last."""
MISSING = {"", "#n/a", "n/a", "na", "nan", "-nan", "null", "none", "<na>", "?"}
"""What stands for a cell without a value, in small letters: mostly what pandas reads so."""
LARGEST = 1e6
"""Of a standardised number; larger ones are cut, since float32 would make infinities of some."""


@dataclass(frozen=True)
class Columns:
    """How cells become inputs; learned from training rows and saved beside the model.

    Args:
        names: of the columns, without the label's.
        scales: place of each column of numbers to its mean and deviation.
        categories: place of each column of categories to its values.
    """

    names: tuple[str, ...]
    scales: Mapping[int, tuple[float, float]]
    categories: Mapping[int, tuple[str, ...]]

    @classmethod
    def learned(cls, names: Sequence[str], rows: Sequence[Row]) -> "Columns":
        """Look at training rows."""
        scales, categories = {}, {}
        for at in range(len(names)):
            cells = [row[at] for row in rows if row[at]]
            numbers = [number(cell) for cell in cells]
            finite = torch.tensor([x for x in numbers if math.isfinite(x)], dtype=torch.float64)
            if len(finite) and not any(math.isnan(x) for x in numbers):
                scales[at] = (float(finite.mean()), float(finite.std(correction=0)) or 1.0)
            else:
                categories[at] = tuple(sorted({*cells}))
        return cls(tuple(names), scales, categories)

    def inputs(self, rows: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Give standardised numbers, NaN where there is no finite one, and ids of categories, 0 for unknown ones."""
        numbers = [[standardised(row[at], *scale) for at, scale in self.scales.items()] for row in rows]
        ids = [{value: place for place, value in enumerate(values, 1)} for values in self.categories.values()]
        found = [[known.get(row[at], 0) for at, known in zip(self.categories, ids, strict=True)] for row in rows]
        shape = (len(rows), -1) if rows else (0, 0)
        return (
            torch.tensor(numbers).reshape(shape[0], len(self.scales)),
            torch.tensor(found, dtype=torch.long).reshape(shape[0], len(self.categories)),
        )

    @classmethod
    def read(cls, text: str) -> "Columns":
        """Read what `json.dumps(asdict(…))` wrote, where keys are texts."""
        saved = json.loads(text)
        scales = {int(at): tuple(pair) for at, pair in saved["scales"].items()}
        return cls(tuple(saved["names"]), scales, {int(at): tuple(v) for at, v in saved["categories"].items()})


def number(cell: str) -> float:
    """Read a number; NaN where there is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def standardised(cell: str, mean: float, scale: float) -> float:
    """Read a number in units of its column's deviation; NaN where there is none, or an infinite one."""
    found = (number(cell) - mean) / scale
    return max(-LARGEST, min(LARGEST, found)) if math.isfinite(found) else math.nan


def cleaned(cells: Sequence[str]) -> list[str]:
    """Strip cells, and empty those that stand for a missing value."""
    return ["" if cell.strip().lower() in MISSING else cell.strip() for cell in cells]


class RowCorpus(BatchedCorpus):
    """Labelled rows."""

    task, metric = "classify", "accuracy"

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, names: Sequence[str], parts: Mapping[str, Sequence[Row]]
    ) -> None:
        super().__init__(about, spec, {part: torch.ones(len(rows)) for part, rows in parts.items()})
        self.parts = parts
        self.labels = names_of((row[-1] for row in parts["train"]), self.name)
        self.columns = Columns.learned(names, parts["train"])

    def overrides(self) -> dict[str, Any]:
        """See `Corpus.overrides`."""
        sizes = [len(values) for values in self.columns.categories.values()]
        return {**super().overrides(), "numbers": len(self.columns.scales), "categories": sizes}

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """See `BatchedCorpus.examples`; a label that no training row has is not counted."""
        rows = [self.parts[split][place] for place in places]
        ids = {label: place for place, label in enumerate(self.labels)}
        return Batch(self.columns.inputs(rows), torch.tensor([ids.get(row[-1], -100) for row in rows]))

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `BatchedCorpus.score`."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def save(self, folder: Path) -> None:
        """Save the columns for predictions."""
        super().save(folder)
        write_text(folder / "columns.json", json.dumps(asdict(self.columns)))


def preprocess(config: Mapping[str, Any], train: bool) -> Callable[[Any], tuple[Tensor, Tensor]]:
    """Give what reads rows as they stand in a file, without the label: `34,Berlin,,2`."""
    where = config.get("repository")
    path = fetch(where, ("columns.json",)) if where else None
    columns = None if path is None else Columns.read(path.read_text(encoding="utf-8"))

    def prepared(raw: Any) -> tuple[Tensor, Tensor]:
        if columns is None:
            raise InputError("cells are read by the columns.json of a trained model: name its folder")
        rows = [next(csv.reader([line])) for line in ([raw] if isinstance(raw, str) else raw)]
        for row in rows:
            if len(row) != len(columns.names):
                raise InputError(f"{','.join(row)!r} has {len(row)} cells, the columns are {', '.join(columns.names)}")
        return columns.inputs([cleaned(row) for row in rows])

    prepared.reads_files = False  # so that `zoo serve` takes a text, which names no file here
    return prepared


def open_file(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> RowCorpus:
    """Open `rows:FILE?target=COLUMN`."""
    path, _, option = argument.partition("?")
    key, _, target = option.partition("=")
    if key not in ("", "target"):
        raise DataError(f"rows:{argument}: write ?target=COLUMN")
    try:
        with Path(path).expanduser().open(encoding="utf-8", newline="") as file:
            header, *lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except (OSError, ValueError) as error:
        raise DataError(f"{path!r} cannot be read: {error}") from error
    if target and target not in header:
        raise DataError(f"{path!r} has no column {target!r}: it has {', '.join(header)}")
    if short := [at for at, line in enumerate(lines, 2) if len(line) != len(header)]:
        raise DataError(f"{path!r}, line {short[0]}: not {len(header)} cells, as the header has")
    at = header.index(target) if target else len(header) - 1
    rows = [(*cleaned([*line[:at], *line[at + 1 :]]), line[at]) for line in lines]
    return corpus(path, spec, seed, [*header[:at], *header[at + 1 :]], [row for row in rows if row[-1]])


def corpus(name: str, spec: ModelSpec, seed: int, names: Sequence[str], rows: Sequence[Row]) -> RowCorpus:
    """Make a corpus; equal rows are in one part, by a hash of their cells."""
    texts = {row: "\0".join(row) for row in rows}
    parts = complete({"train": rows}, texts.__getitem__, seed, name, draw=by_text).by_name()
    about = DatasetInfo(name, f"{len(rows):,} rows of {len(names)} columns.", fingerprint([str(seed), *texts.values()]))
    return RowCorpus(about, spec, names, parts)


def open_sample(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> RowCorpus:
    """Open `rows-sample:COUNT`, 1,000 rows if no number is given: the colour says which of two numbers decides."""
    if argument and not (argument.isdecimal() and int(argument) >= 40):
        raise DataError(f"rows-sample:{argument}: give a number of rows, 40 or more")
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(int(argument or 1000)):
        first, second, third = torch.randn(3, generator=generator).tolist()
        colour = ("red", "green")[int(torch.randint(2, (), generator=generator))]
        decides = first if colour == "red" else second
        rows.append((f"{first:.4f}", colour, f"{second:.4f}", f"{third:.4f}", "yes" if decides > 0 else "no"))
    return corpus("rows-sample", spec, seed, ("first", "colour", "second", "third"), rows)
