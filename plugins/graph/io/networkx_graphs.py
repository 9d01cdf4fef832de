"""Graphs of networkx: nodes in their order, edges of undirected ones in both directions.

Not by PyTorch Geometric's `from_networkx`: it refuses graphs whose nodes or edges differ in any attribute, also in
those that no model reads (tested), and takes four times as long.

Axes: n nodes, e edges.
"""

import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from zoo import InputError
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.tokens.feature_encoders import Kinds


def is_network(graph: Any) -> bool:
    """Tell whether this is a graph of networkx; nothing is imported to find out."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(graph, networkx.Graph)


def of_network(graph: Any, node_features: Kinds, edge_features: Kinds) -> GraphInputs:
    """Give the tensors of a graph.

    Args:
        graph: of networkx: directed or not, with several edges between two nodes or one.
        node_features: what a model reads of the attribute `x` of nodes: a number or a list; 0 for nothing.
        edge_features: the same of the attribute `edge_attr` of edges.

    Raises:
        InputError: If an attribute is missing or not as long as the others.
    """
    places = {node: place for place, node in enumerate(graph.nodes)}
    edges = [(source, target, data) for source, target, data in graph.edges(data=True)]
    ends = [(places[source], places[target]) for source, target, _ in edges]
    chosen = list(range(len(edges)))
    if not graph.is_directed():
        back = [place for place, (source, target) in enumerate(ends) if source != target]
        chosen, ends = chosen + back, ends + [ends[place][::-1] for place in back]
    index = torch.tensor(ends, dtype=torch.long).reshape(-1, 2).T.contiguous()
    x: Tensor | None = torch.zeros(len(places), 0)
    if node_features != 0:
        x = _table(((f"node {node!r}", data) for node, data in graph.nodes(data=True)), "x", node_features)
    attr = None
    if edge_features != 0:
        named = ((f"edge {source!r} to {target!r}", data) for source, target, data in edges)
        attr = _table(named, "edge_attr", edge_features)[chosen]
    assert x is not None
    return GraphInputs(x, index, attr)


def _table(named: Iterable[tuple[str, dict[str, Any]]], attribute: str, kinds: Kinds) -> Tensor:
    """Put the attributes of nodes or edges below each other."""
    rows: list[list[float]] = []
    columns = kinds if isinstance(kinds, int) else len(kinds)
    for name, data in named:
        if attribute not in data:
            raise InputError(f"{name} has no attribute {attribute!r}, and the model reads features: give it to all")
        row = torch.as_tensor(data[attribute]).flatten().tolist()
        if len(row) != columns:
            raise InputError(f"{attribute} of {name} has {len(row)} numbers, and the model reads {columns}")
        rows.append(row)
    dtype = torch.get_default_dtype() if isinstance(kinds, int) else None
    found = torch.tensor(rows, dtype=dtype).reshape(-1, columns)
    return found if rows or dtype else found.long()
