"""Graphs in lines of JSON: `edges` [[source, target], …], `x` and `edge_attr` of numbers, and targets.

Axis: e edges.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from zoo import InputError
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_ends, check_shapes

KEYS = {"label": "class", "labels": "labels", "target": "numbers"}
"""Keys of the target, and what kind of target each is."""
MOST = 2**31
"""Nodes that no graph has."""


def example_of_line(line: str) -> tuple[GraphInputs, str, Any]:
    """Give the graph of a line: `edges` [[source, target], …], `x`, `edge_attr`; the key of its target, and that.

    Raises:
        InputError: If it is no graph, or has not one target.
    """
    entry = _entry(line)
    found = [key for key in KEYS if key in entry]
    if len(found) != 1 or "edges" not in entry:
        raise InputError(f"it needs edges and one of {', '.join(KEYS)}")
    return _graph(entry), found[0], _target(found[0], entry[found[0]])


def of_line(line: str) -> GraphInputs:
    """Give the graph of a line, whatever its target.

    Raises:
        InputError: If it is none.
    """
    entry = _entry(line)
    if "edges" not in entry:
        raise InputError("it needs edges, [[source, target], …]")
    return _graph(entry)


def is_line(text: str) -> bool:
    """Tell a line of JSON from a molecule as SMILES, which has no braces."""
    return text.lstrip().startswith("{")


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
