"""Targets of graphs, read from the texts beside them in a `GraphStore`: classes, labels or numbers, as one tensor."""

import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from zoo import DataError, InputError
from zoo.core import IGNORED
from zoo.data import Skipped, cached_file, fingerprint, for_training, names_of
from zoo.plugins.graph.data.storage.graph_store import GraphStore
from zoo.plugins.graph.io.json_lines import KEYS, finite, floats, named

_NAMED = 100
"""Graphs without a target of which it is kept why; the others are counted."""
Give = Callable[[str], Any]
"""Reads the target in a text: the name of a class, names of labels, or numbers; raises an `InputError` for none."""


class Targets(NamedTuple):
    """Targets of the graphs of a store.

    Args:
        kind: `class`, `labels` or `numbers`.
        labels: their names.
        values: of each graph: a class; or labels or numbers (k), NaN where one is not told.
        good: places of the graphs that have one.
        skipped: why the first of the others have none.
    """

    kind: str
    labels: list[str]
    values: Tensor
    good: NDArray[np.int64]
    skipped: list[Skipped]


class _Reading:
    """Read the targets of a store; once read, `skipped` and `good` tell of them.

    Args:
        store: of the graphs.
        name: of the file, for errors.
        give: reads one.
    """

    def __init__(self, store: GraphStore, name: str, give: Give) -> None:
        self.store, self.name, self.give = store, name, give
        self.skipped: list[Skipped] = []
        self.good = np.zeros(len(store), np.bool_)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for place, text in enumerate(self.store.texts()):
            try:
                target = self.give(text)
            except InputError as error:
                if len(self.skipped) < _NAMED:
                    line = int(self.store.arrays["lines"][place])
                    self.skipped.append(Skipped(f"line {line}", str(error), line))
            else:
                self.good[place] = True
                yield place, target

    def classes(self) -> Targets:
        """Read a class of each graph."""
        places: dict[str, int] = {}
        values = np.full(len(self.store), IGNORED, np.int64)
        for place, label in self:
            values[place] = places.setdefault(label, len(places))
        found = values[self.good]
        labels, order = self._named(places, found)
        values[self.good] = order[found]
        return self._targets("class", labels, values)

    def any_labels(self) -> Targets:
        """Read a list of labels of each graph."""
        places: dict[str, int] = {}
        rows, columns = array("q"), array("q")
        for place, names in self:
            for name in set(names):
                rows.append(place)
                columns.append(places.setdefault(name, len(places)))
        labels, order = self._named(places, np.asarray(columns))
        values = np.zeros((len(self.store), len(labels)), np.float32)
        values[np.asarray(rows), order[np.asarray(columns)]] = 1
        return self._targets("labels", labels, values)

    def numbers(self, kind: str, labels: Sequence[str]) -> Targets:
        """Read as many numbers of each graph, or 0 or 1 for each label."""
        values = np.full((len(self.store), len(labels)), np.nan, np.float32)
        for place, numbers in self:
            if not labels:
                labels = [f"target {number}" for number in range(len(numbers))]
                values = np.full((len(self.store), len(labels)), np.nan, np.float32)
            if len(numbers) != len(labels):
                where = f"{self.name}, line {self.store.arrays['lines'][place]}"
                raise DataError(f"{where}: {len(numbers)} numbers, and {len(labels)} elsewhere")
            values[place] = numbers
        return self._targets(kind, labels, values)

    def _named(self, places: dict[str, int], found: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
        """Give the labels in alphabetical order, and the place of each in it."""
        counts = np.bincount(found, minlength=len(places)).tolist()
        labels = names_of(chain.from_iterable(map(repeat, places, counts)), self.name)
        rank = {label: place for place, label in enumerate(labels)}
        return labels, np.array([rank[label] for label in places])

    def _targets(self, kind: str, labels: Sequence[str], values: NDArray[Any]) -> Targets:
        return Targets(kind, list(labels), torch.from_numpy(values), np.flatnonzero(self.good), self.skipped)


def targets_of(store: GraphStore, name: str, columns: Sequence[str], wanted: Sequence[str]) -> Targets:
    """Read the targets, or take them from the cache, where they lie beside the graphs.

    Args:
        store: of the graphs.
        name: of the file, for errors.
        columns: of the table; none of lines of JSON.
        wanted: columns of the targets; all if empty.

    Raises:
        DataError: If graphs have different kinds of targets, or labels are none.
    """
    made = []

    def make(path: Path) -> None:
        made.append(_read(store, name, columns, wanted))
        _save(made[0], path)

    assert store.folder is not None
    purpose = () if for_training() else ("to judge",)  # which other labels are right for
    file = cached_file(f"graphs/{store.folder.name}-{fingerprint([*wanted, *purpose])}.safetensors", make)
    return made[0] if made else _load(file)


def _read(store: GraphStore, name: str, columns: Sequence[str], wanted: Sequence[str]) -> Targets:
    if not columns:
        return _of_lines(store, name)
    names = list(wanted) or list(columns)
    places = [columns.index(column) for column in names]
    kind = _kind(store, name, places)
    if kind == "class":
        return _Reading(store, name, lambda text: named(*_cells(text, places))).classes()
    return _Reading(store, name, lambda text: finite(floats(_cells(text, places)))).numbers(kind, names)


def _of_lines(store: GraphStore, name: str) -> Targets:
    keys = {next(iter(json.loads(text))) for text in store.texts()}
    if len(keys) > 1:
        raise DataError(f"{name} asks for {' and '.join(sorted(keys))}: give all graphs one of them")
    kind = KEYS[keys.pop()]
    reading = _Reading(store, name, lambda text: next(iter(json.loads(text).values())))
    if kind == "numbers":
        return reading.numbers(kind, [])
    return reading.classes() if kind == "class" else reading.any_labels()


def _kind(store: GraphStore, name: str, places: Sequence[int]) -> str:
    """Tell what cells mean: labels where all are 0, 1 or empty; else numbers; else the classes of one column."""
    binary = True
    try:
        for text in store.texts():
            cells = _cells(text, places)
            binary = binary and all(cell in ("0", "1", "0.0", "1.0", "") for cell in cells)
            if not binary:
                floats(cells)
    except InputError as error:
        if len(places) > 1:
            raise DataError(f"{name}: {error}; target=COLUMN names the column of targets") from error
        return "class"
    return "labels" if binary else "numbers"


def _cells(text: str, places: Sequence[int]) -> list[str]:
    cells = json.loads(text)
    return [cells[place] for place in places]


def _save(targets: Targets, path: Path) -> None:
    about = {"kind": targets.kind, "labels": targets.labels, "skipped": targets.skipped}
    tensors = {"values": targets.values, "good": torch.from_numpy(targets.good)}
    save_file(tensors, path, {"about": json.dumps(about)})


def _load(file: Path) -> Targets:
    with safe_open(file, "pt") as opened:  # tensors in the pages of the file
        about = json.loads(opened.metadata()["about"])
        values, good = opened.get_tensor("values"), opened.get_tensor("good").numpy()
    return Targets(about["kind"], about["labels"], values, good, [Skipped(*each) for each in about["skipped"]])
