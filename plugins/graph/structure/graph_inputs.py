"""The inputs of graph models: tensors, or an object of PyTorch Geometric, and the checks of both.

Axes: n nodes, e edges, f and a features of them, p pairs of nodes.
"""

from collections.abc import Sequence
from os import PathLike
from reprlib import repr as shortened
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core import InputError, values_known

ORDER = ("x", "edge_index", "edge_attr", "batch", "pairs")
FORM = "(x, edge_index, edge_attr, batch), or one Data or Batch of torch_geometric"


class GraphInputs(NamedTuple):
    """Hold graphs as tensors."""

    x: Tensor
    edge_index: Tensor
    """Sources, which are read, in row 0; targets, which read, in row 1."""
    edge_attr: Tensor | None = None
    batch: Tensor | None = None
    """The graph of each node; None for one graph."""
    pairs: Tensor | None = None
    """Pairs of nodes (2, p) that are asked about."""
    graphs: int | None = None
    """How many there are, where that is known besides."""


def read(inputs: Sequence[Any]) -> GraphInputs:
    """Read what a model was given, and check that it is graphs; values are checked where they are read.

    Raises:
        InputError: If it is none of the forms there are.
    """
    first, *others = inputs or (None,)
    if hasattr(first, "edge_index") and hasattr(first, "num_nodes"):
        given = of_data(first, *others)
    elif isinstance(first, Tensor) and 2 <= len(inputs) <= len(ORDER):
        given = GraphInputs(*inputs)
    else:
        shown = ", ".join(type(each).__name__ for each in inputs) or "nothing"
        value = f" ({shortened(first)})" if isinstance(first, str | PathLike | list | tuple | dict) else ""
        raise InputError(f"{shown}{value} where graphs belong: {FORM}; zoo.preprocess(NAME) makes them of raw inputs")
    check_shapes(given)
    return given


def of_data(data: Any, pairs: Tensor | None = None) -> GraphInputs:
    """Read a `Data` or `Batch`; pairs are its `edge_label_index` where none are given.

    Raises:
        InputError: If it has no edge_index, or no features and no number of nodes.
    """
    if not isinstance(data.edge_index, Tensor):
        raise InputError(f"{data} has no edge_index; one with adj_t gets it by torch_geometric.utils.to_edge_index")
    x = data.x
    if x is None:
        x = torch.zeros(int(data.num_nodes or 0), 0, device=data.edge_index.device)
    graphs = getattr(data, "num_graphs", None) if getattr(data, "batch", None) is not None else None
    pairs = getattr(data, "edge_label_index", None) if pairs is None else pairs
    return GraphInputs(
        x, data.edge_index, getattr(data, "edge_attr", None), getattr(data, "batch", None), pairs, graphs
    )


def check_shapes(given: GraphInputs) -> None:
    """Refuse tensors of shapes or dtypes that no graphs have.

    Raises:
        InputError: If one has.
    """
    for name, tensor in zip(ORDER, given, strict=False):
        if not isinstance(tensor, Tensor) and (tensor is not None or name in ORDER[:2]):
            raise InputError(f"{name} is a {type(tensor).__name__} and no tensor: a model of graphs reads {FORM}")
    x, index, attr, batch, pairs, _ = given
    if x.ndim != 2:
        raise InputError(f"x of shape {tuple(x.shape)}: it is (nodes, features){_column(x)}")
    for name, ends in (("edge_index", index), ("pairs", pairs)):
        if ends is not None:
            _check_ends(name, ends)
    if attr is not None and (attr.ndim not in (1, 2) or attr.shape[0] != index.shape[1]):
        raise InputError(f"edge_attr of shape {tuple(attr.shape)} for {index.shape[1]} edges: one row for each edge")
    if batch is not None and (batch.shape != x.shape[:1] or not _whole(batch)):
        shown = f"batch of shape {tuple(batch.shape)} of {batch.dtype}"
        raise InputError(f"{shown} for {len(x)} nodes: it is the number of each node's graph, a whole number")


def _check_ends(name: str, ends: Tensor) -> None:
    shape = tuple(ends.shape)
    if ends.ndim != 2 or shape[0] != 2:
        hint = f": transpose it, {name}.t()" if ends.ndim == 2 and shape[1] == 2 else ""
        raise InputError(f"{name} of shape {shape} is not (2, edges), sources in row 0 and targets in row 1{hint}")
    if not _whole(ends):
        hint = f": {name}.long()" if ends.is_floating_point() else ""
        raise InputError(f"{name} is {ends.dtype}, and nodes are whole numbers{hint}")


def check_ends(name: str, ends: Tensor, nodes: int) -> None:
    """Refuse edges or pairs of nodes that are not there.

    Args:
        name: of the tensor.
        ends: (2, edges).
        nodes: how many there are.

    Raises:
        InputError: If there is one; the text names the first.
    """
    if not values_known(ends) or not ends.numel() or (int(ends.min()) >= 0 and int(ends.max()) < nodes):
        return
    place = int(((ends < 0) | (ends >= nodes)).any(0).nonzero()[0])
    nodes_range = f"there are {nodes} nodes, 0 … {nodes - 1}" if nodes else "there are no nodes"
    raise InputError(f"{name}[:, {place}] is {tuple(ends[:, place].tolist())}, and {nodes_range}")


def check_batch(batch: Tensor, index: Tensor, graphs: int | None) -> None:
    """Refuse graphs that are not there or whose nodes do not stand together, or edges from one graph to another.

    Args:
        batch: the graph of each node.
        index: (2, edges).
        graphs: how many there are, where that is known.

    Raises:
        InputError: If there are any; the text names the first.
    """
    if not values_known(batch) or not len(batch):
        return
    if int(batch.min()) < 0:
        node = int((batch < 0).nonzero()[0])
        raise InputError(f"batch[{node}] is {int(batch[node])}: graphs are not negative")
    falls = batch[1:] < batch[:-1]
    if bool(falls.any()):
        node = int(falls.nonzero()[0]) + 1
        raise InputError(
            f"batch is not sorted: node {node} of graph {int(batch[node])} stands behind one of graph "
            f"{int(batch[node - 1])}; order nodes by graph, as torch_geometric.data.Batch does"
        )
    if graphs is not None and int(batch[-1]) >= graphs:
        node = int((batch >= graphs).nonzero()[0])
        raise InputError(f"batch[{node}] is {int(batch[node])}, and there are {graphs} graphs, 0 … {graphs - 1}")
    source, target = batch[index]
    if not torch.equal(source, target):
        place = int((source != target).nonzero()[0])
        raise InputError(
            f"edge_index[:, {place}] is {tuple(index[:, place].tolist())}, from graph {int(source[place])} to graph "
            f"{int(target[place])}: graphs do not read each other"
        )


def _whole(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or x.dtype is torch.bool)


def _column(x: Tensor) -> str:
    return ", and one feature is a column: x[:, None]" if x.ndim == 1 else ""
