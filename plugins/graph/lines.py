"""Graphs in lines of JSON: `edges` [[source, target], …], `x` and `edge_attr` of numbers, and what is asked."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.errors import DataError, InputError
from zoo.plugins.corpora.skipped import Skipped
from zoo.plugins.graph.inputs import Given, check_ends, check_shapes

KEYS = {"label": "class", "labels": "labels", "target": "numbers"}
"""Keys of what is asked, and what kind of target each is."""


class Row(NamedTuple):
    """Hold a graph as the user gave it.

    Args:
        name: where it stands.
        graph: its tensors.
        asked: a label, a list of labels, or a list of numbers.
    """

    name: str
    graph: Given
    asked: Any


def read_lines(name: str, text: str) -> tuple[str, list[Row], list[Skipped], int]:
    """Give the kind of target, the graphs, what is none, and how many lines there are.

    Args:
        name: of the file, for errors.
        text: its content.

    Raises:
        DataError: If graphs are asked different things, or their features are not as many.
    """
    rows: list[Row] = []
    skipped: list[Skipped] = []
    keys: set[str] = set()
    lines = [line for line in enumerate(text.splitlines(), start=1) if line[1].strip()]
    for number, line in lines:
        try:
            key, row = _row(f"line {number}", line)
        except InputError as error:
            skipped.append(Skipped(f"line {number}", str(error), number))
        else:
            keys.add(key)
            rows.append(row)
    if len(keys) > 1:
        raise DataError(f"{name} asks for {' and '.join(sorted(keys))}: give all graphs one of them")
    widths = sorted({widths_of(row.graph) for row in rows})
    if len(widths) > 1:
        raise DataError(f"{name}: nodes and edges have {widths} features: as many in all graphs")
    return KEYS[keys.pop()] if keys else "class", rows, skipped, len(lines)


def widths_of(graph: Given) -> tuple[int, int]:
    """Count the features of a node and of an edge."""
    return graph.x.shape[1], 0 if graph.edge_attr is None else graph.edge_attr.shape[1]


def _row(name: str, line: str) -> tuple[str, Row]:
    """Read a line: `edges` [[source, target], …], `x`, `edge_attr`, and what is asked.

    Raises:
        InputError: If it is no graph.
    """
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise InputError(f"no JSON: {error}") from error
    asked = [key for key in KEYS if isinstance(entry, dict) and key in entry]
    if len(asked) != 1 or "edges" not in entry:
        raise InputError(f"it needs edges and one of {', '.join(KEYS)}")
    try:
        edges = torch.tensor(entry["edges"], dtype=torch.long).reshape(-1, 2)
        found = {key: _numbers(entry[key]) for key in ("x", "edge_attr") if key in entry}
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"its numbers are no table: {error}") from error
    count = len(found["x"]) if "x" in found else int(entry.get("nodes", int(edges.max()) + 1 if edges.numel() else 0))
    x = found.get("x", torch.zeros(count, 0))
    graph = Given(x, edges.T.contiguous(), found.get("edge_attr"))
    check_shapes(graph)
    check_ends("edges", graph.edge_index, len(x))
    if not len(x):
        raise InputError("it has no nodes")
    if not all(bool(torch.isfinite(each).all()) for each in found.values()):
        raise InputError("its features are not finite")
    return asked[0], Row(name, graph, _asked(asked[0], entry[asked[0]]))


def _numbers(rows: Any) -> Tensor:
    table = torch.tensor(rows, dtype=torch.float32)
    return table[:, None] if table.ndim == 1 else table


def _asked(key: str, value: Any) -> Any:
    if key == "label":
        return str(value)
    if key == "labels":
        if not isinstance(value, list):
            raise InputError(f"labels={value!r} is no list")
        return [str(each) for each in value]
    return floats(value if isinstance(value, list) else [value])


def floats(values: Sequence[Any]) -> list[float]:
    """Read numbers; what is empty is not asked.

    Raises:
        InputError: If one is no number.
    """
    try:
        return [math.nan if value in (None, "") else float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise InputError(f"{list(values)!r} are no numbers") from error
