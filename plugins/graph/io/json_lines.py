"""Graphs in lines of JSON: `edges` [[source, target], …], `x` and `edge_attr` of numbers, and targets.

Axis: e edges.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from zoo import DataError, InputError
from zoo.data import Skipped
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_ends, check_shapes

KEYS = {"label": "class", "labels": "labels", "target": "numbers"}
"""Keys of the target, and what kind of target each is."""
MOST = 2**31
"""Nodes that no graph has."""


class Row(NamedTuple):
    """Hold a graph as the user gave it.

    Args:
        name: where it stands.
        graph: its tensors.
        asked: a label, a list of labels, or a list of numbers.
    """

    name: str
    graph: GraphInputs
    target: Any


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
    return KEYS[keys.pop()] if keys else "class", _alike(name, rows), skipped, len(lines)


def widths_of(graph: GraphInputs) -> tuple[int, int]:
    """Count the features of a node and of an edge."""
    return graph.x.shape[1], 0 if graph.edge_attr is None else graph.edge_attr.shape[1]


def _alike(name: str, rows: Sequence[Row]) -> list[Row]:
    """Give graphs without edges the features of edges, none of them, that the others have.

    Raises:
        DataError: If features are not as many in all graphs.
    """
    nodes = {widths_of(row.graph)[0] for row in rows}
    edges = {widths_of(row.graph)[1] for row in rows if row.graph.edge_index.numel()} or {0}
    if len(nodes) > 1 or len(edges) > 1:
        counts = f"nodes have {sorted(nodes)} features, edges {sorted(edges)}"
        raise DataError(f"{name}: {counts}: give all graphs as many")
    (width,) = edges
    none = torch.zeros(0, width) if width else None
    return [
        row if row.graph.edge_index.numel() else row._replace(graph=row.graph._replace(edge_attr=none)) for row in rows
    ]


def _row(name: str, line: str) -> tuple[str, Row]:
    """Read a line: `edges` [[source, target], …], `x`, `edge_attr`, and the target.

    Raises:
        InputError: If it is no graph.
    """
    entry = _entry(line)
    found = [key for key in KEYS if key in entry]
    if len(found) != 1 or "edges" not in entry:
        raise InputError(f"it needs edges and one of {', '.join(KEYS)}")
    return found[0], Row(name, _graph(entry), _target(found[0], entry[found[0]]))


def of_line(line: str) -> GraphInputs:
    """Give the graph of a line, whatever its target.

    Raises:
        InputError: If it is none.
    """
    entry = _entry(line)
    if "edges" not in entry:
        raise InputError("it needs edges, [[source, target], …]")
    return _graph(entry)


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise InputError(f"no JSON: {error}") from error
    return entry if isinstance(entry, dict) else {}


def _graph(entry: Mapping[str, Any]) -> GraphInputs:
    index = _edges(entry["edges"])
    found = {key: _features(key, entry[key]) for key in ("x", "edge_attr") if key in entry}
    count = _count(entry, index, found.get("x"))
    graph = GraphInputs(found.get("x", torch.zeros(count, 0)), index, found.get("edge_attr"))
    check_shapes(graph)
    check_ends("edges", index, count)
    if not count:
        raise InputError("it has no nodes")
    if not all(bool(torch.isfinite(each).all()) for each in found.values()):
        raise InputError("its features are not finite")
    return graph


def _edges(rows: Any) -> Int[Tensor, "2 e"]:
    """Read [[source, target], …].

    Raises:
        InputError: If they are not pairs, or not of whole numbers.
    """
    if rows == []:
        return torch.zeros(2, 0, dtype=torch.long)
    table = _table("edges", rows)
    shape = tuple(table.shape)
    if len(shape) != 2 or shape[1] != 2:
        hint = ": transpose them" if len(shape) == 2 and shape[0] == 2 else ""
        raise InputError(f"edges of shape {shape} are not [[source, target], …]{hint}")
    odd = next((edge for edge in rows if any(type(end) is not int for end in edge)), None)
    if odd is not None:
        raise InputError(f"edges name {odd!r}, and nodes are whole numbers")
    return table.T.contiguous()


def _features(key: str, rows: Any) -> Tensor:
    table = _table(key, rows, torch.float32)
    if not table.ndim:
        raise InputError(f"{key}={rows!r} is no table: one row for each node or edge")
    return table[:, None] if table.ndim == 1 else table


def _table(key: str, rows: Any, dtype: torch.dtype | None = None) -> Tensor:
    try:
        return torch.tensor(rows, dtype=dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{key} is no table of numbers: {error}") from error


def _count(entry: Mapping[str, Any], index: Int[Tensor, "2 e"], x: Tensor | None) -> int:
    """Count the nodes: as `x` has rows, or else as is said, or else as edges name.

    Raises:
        InputError: If something else is said than `x` has rows, or it is no number of nodes.
    """
    counted = len(x) if x is not None else max(0, int(index.max()) + 1) if index.numel() else 0
    said = entry.get("nodes", counted)
    if type(said) is not int or not 0 <= said < MOST:
        raise InputError(f"nodes={said!r} is no number of nodes")
    if x is not None and said != counted:
        raise InputError(f"nodes={said}, and x has {counted} rows: give one for each node")
    return said


def _target(key: str, value: Any) -> Any:
    if key == "label":
        return named(value)
    if key == "labels":
        if not isinstance(value, list):
            raise InputError(f"labels={value!r} is no list")
        return [named(each) for each in value]
    return finite(floats(value if isinstance(value, list) else [value]))


def named(value: Any) -> str:
    """Read the name of a class.

    Raises:
        InputError: If there is none.
    """
    if not isinstance(value, str | int | float) or value == "" or value != value:  # the last is NaN
        raise InputError(f"{value!r} is no label")
    return str(value)


def floats(values: Sequence[Any]) -> list[float]:
    """Read numbers; what is empty is not asked.

    Raises:
        InputError: If one is no number.
    """
    try:
        return [math.nan if value in (None, "") else float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{list(values)!r} are no numbers") from error


def finite(numbers: list[float]) -> list[float]:
    """Give numbers as they are.

    Raises:
        InputError: If one is infinite, or would be in a tensor.
    """
    if bool(torch.tensor(numbers).isinf().any()):
        raise InputError(f"{numbers} are not finite")
    return numbers
