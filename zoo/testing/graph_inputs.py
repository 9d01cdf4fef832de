"""Splitting and permuting graph inputs for conformance tests: x, edge_index, edge_attr, batch, and node pairs."""

from typing import Any

import torch
from torch import Tensor

Inputs = tuple[Any, ...]


def are_graphs(inputs: Inputs) -> bool:
    """Tell whether inputs are graphs in one large batch: features of nodes, edges, and the graph of each node."""
    if len(inputs) < 4 or not all(isinstance(part, Tensor) for part in (*inputs[:2], inputs[3])):
        return False
    x, index, _, batch = inputs[:4]
    return index.ndim == 2 and len(index) == 2 and not index.is_floating_point() and batch.shape == x.shape[:1]


def graph(inputs: Inputs, number: int, answers: int) -> tuple[Inputs, Tensor] | None:
    """Take one graph, and tell which of the answers are its own; None behind the last graph.

    Args:
        inputs: of several graphs.
        number: of the graph.
        answers: how many there are, one for each graph, node or pair.
    """
    x, index, attr, batch, *pairs = inputs
    if number > int(batch.max()):
        return None
    nodes = batch == number
    first, edges = int(nodes.nonzero()[0]), nodes[index[0]]
    masks = [nodes[pair[0]] for pair in pairs]
    alone = x[nodes], index[:, edges] - first, None if attr is None else attr[edges], batch[nodes] - number
    owners = [torch.arange(int(batch.max()) + 1) == number, nodes, *masks]
    own = next(owner for owner in owners if len(owner) == answers)
    return (*alone, *(pair[:, mask] - first for pair, mask in zip(pairs, masks, strict=True))), own


def relabelled(inputs: Inputs) -> tuple[Inputs, Tensor]:
    """Count the nodes of each graph backwards, and its edges in another order; give also the order of the nodes."""
    x, index, attr, batch, *pairs = inputs
    order = torch.arange(len(x)).flip(0)
    order = order[batch[order].argsort(stable=True)]
    place = torch.empty_like(order)
    place[order] = torch.arange(len(x))
    renamed = x[order], place[index].flip(1), None if attr is None else attr.flip(0), batch
    return (*renamed, *(place[pair] for pair in pairs)), order
