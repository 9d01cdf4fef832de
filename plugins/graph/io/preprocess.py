"""`Preprocess`: from graphs in several formats to the tensors of one packed batch.

Axes: n nodes, e edges, f and a features of them, p pairs.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zoo import ConfigError, InputError
from zoo.data import Skipped, read_each
from zoo.plugins.graph.io.json_lines import is_line, of_line
from zoo.plugins.graph.io.networkx_graphs import is_network, of_network
from zoo.plugins.graph.io.smiles import names_of_atoms, of_smiles
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_batch, check_ends, read
from zoo.plugins.graph.tokens.feature_encoders import Kinds, check_features

Graphs = tuple[Any, ...]
"""`x`, `edge_index`, `edge_attr` or None, and `batch`; and pairs of nodes, where all graphs have them."""


class Preprocess:
    """Turn a graph, or a list of them, into `(x, edge_index, edge_attr, batch)`, which every model of graphs takes.

    Pairs of nodes that are asked about follow where all graphs have them.

    A graph is a `Data` or `Batch` of PyTorch Geometric; a tuple of tensors, as a model reads them; a graph of networkx,
    whose nodes may have attributes `x` and its edges `edge_attr`; a molecule as SMILES;
    or a line of JSON, as of `zoo train --data graphs:FILE.jsonl`, where the target may be left out.

    Args:
        config: of the model: `node_features` and `edge_features` say what it reads.
        train: changes nothing.
    """

    reads_files = False
    input_kind = "graphs, as SMILES or as JSON with edges"

    def __init__(self, config: Mapping[str, Any], train: bool = False) -> None:
        self.node_features = config.get("node_features", 0)
        self.edge_features = config.get("edge_features", 0)
        self.skipped: list[Skipped] = []
        """What the last call left out."""

    def __call__(self, graphs: Any, skip: bool = False) -> Graphs:
        """Give the tensors of all graphs, one behind the other.

        Args:
            graphs: one or a list.
            skip: leave out what cannot be read, with a warning that counts and names it; `skipped` has the reasons.

        Raises:
            InputError: If a graph cannot be read and is not skipped, has no nodes, or none is left.
            MissingLibraryError: If there are molecules and RDKit is not installed.
        """
        self.skipped = []
        skipped = self.skipped if skip else None
        kept = read_each(graphs, self.one, name_of, "graph", several=isinstance(graphs, list), skipped=skipped)
        return packed(kept)

    def one(self, graph: Any) -> GraphInputs:
        """Read one graph, or what is a batch already.

        Raises:
            InputError: If it cannot be read, or the model does not read its features.
        """
        given = self._opened(graph)
        _check(given, name_of(graph))
        x, attr = given.x, given.edge_attr
        if isinstance(self.node_features, int) and not x.is_floating_point():
            x = x.to(torch.get_default_dtype())
        check_features(x, self.node_features, "x", x.dtype)
        if self.edge_features == 0:
            return given._replace(x=x, edge_attr=None)
        if attr is None:
            raise InputError(f"{name_of(graph)} has no features of edges; edge_features=0 makes a model without")
        attr = attr[:, None] if attr.ndim == 1 else attr
        if isinstance(self.edge_features, int) and not attr.is_floating_point():
            attr = attr.to(torch.get_default_dtype())
        check_features(attr, self.edge_features, "edge_attr", attr.dtype)
        return given._replace(x=x, edge_attr=attr)

    @staticmethod
    def amount(graph: str) -> tuple[int, str]:
        """Count the nodes of a line of JSON, or its edges if these are more; characters of a molecule as SMILES.

        Raises:
            InputError: If a line of JSON is no graph.
        """
        if not is_line(graph):
            return len(graph), "characters"
        found = of_line(graph)
        return max(len(found.x), found.edge_index.shape[1]), "nodes"

    @staticmethod
    def names_of_nodes(graph: Any) -> list[str]:
        """Name the atoms of a molecule as SMILES by element and place, such as `C 0`; nothing for other graphs."""
        return names_of_atoms(graph) if isinstance(graph, str) and not is_line(graph) else []

    def _opened(self, graph: Any) -> GraphInputs:
        if isinstance(graph, str):
            return self._numbered(of_line(graph)) if is_line(graph) else of_smiles(graph)
        if is_network(graph):
            return of_network(graph, self.node_features, self.edge_features)
        return read(graph if isinstance(graph, tuple) else (graph,))

    def _numbered(self, given: GraphInputs) -> GraphInputs:
        """Take whole numbers of a line, which are read as floats, for categories where the model reads these."""
        attr = given.edge_attr if given.edge_attr is None else _whole(given.edge_attr, self.edge_features)
        return given._replace(x=_whole(given.x, self.node_features), edge_attr=attr)

    def __repr__(self) -> str:
        return f"Preprocess(node_features={self.node_features}, edge_features={self.edge_features})"


def _whole(x: Tensor, kinds: Kinds) -> Tensor:
    categories = not isinstance(kinds, int) and x.is_floating_point() and bool((x == x.round()).all())
    return x.long() if categories else x


def _check(given: GraphInputs, name: str) -> None:
    """Refuse edges and pairs of no nodes, and graphs without nodes.

    Raises:
        InputError: If there are any.
    """
    x, index, _, batch, pairs, graphs = given
    if not len(x):
        raise InputError(f"{name} has no nodes")
    check_ends("edge_index", index, len(x))
    if pairs is not None:
        check_ends("pairs", pairs, len(x))
    if batch is not None:
        check_batch(batch, index, graphs)
        graphs = graphs or int(batch[-1]) + 1
        if len(batch.unique()) < graphs:
            empty = f"{name} holds {graphs} graphs, of which some have no nodes"
            raise InputError(f"{empty}: leave them out and number the others 0, 1, …")


def packed(graphs: list[GraphInputs]) -> Graphs:
    """Put graphs one behind the other, counting nodes and graphs on.

    Not by PyTorch Geometric's `Batch.from_data_list`: it forgets the graphs of a batch behind a single graph (tested),
    and takes five times as long.

    Raises:
        ConfigError: If features are of different precisions.
    """
    nodes, count = 0, 0
    indices, batches, pairs = [], [], []
    for graph in graphs:
        own = torch.zeros(len(graph.x), dtype=torch.long) if graph.batch is None else graph.batch.long()
        indices.append(graph.edge_index.long() + nodes)
        batches.append(own.to(graph.x.device) + count)
        if graph.pairs is not None:
            pairs.append(graph.pairs.long() + nodes)
        nodes, count = nodes + len(graph.x), count + int(own[-1]) + 1
    if len(kinds := {graph.x.dtype for graph in graphs}) > 1:
        raise ConfigError(f"graphs with features of {', '.join(sorted(map(str, kinds)))}: one precision for all")
    attrs = [graph.edge_attr for graph in graphs if graph.edge_attr is not None]
    attr = torch.cat(attrs) if attrs else None
    found = torch.cat([graph.x for graph in graphs]), torch.cat(indices, dim=1), attr, torch.cat(batches)
    return (*found, torch.cat(pairs, dim=1)) if len(pairs) == len(graphs) else found


def name_of(graph: Any, place: int | None = None) -> str:
    """Name a graph for errors: a molecule by its SMILES, others by their place in the list."""
    if isinstance(graph, str):
        return repr(graph)
    return "a graph" if place is None else f"graph {place}"
