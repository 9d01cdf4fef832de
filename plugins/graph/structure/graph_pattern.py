"""`Graph`, edges with features as a pattern; `GraphStructure`, cached values derived from the edges.

Axes: n nodes, e edges, a edges with features, f features.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from zoo.core import Edges, InputError, Segments, Tokens
from zoo.plugins.graph.structure.edge_rules import EdgeRules, ReadEdges
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_batch
from zoo.plugins.graph.structure.tensor_cache import TensorCache, cached


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Edges):
    """Edges of one graph, or of several that do not read each other.

    Args:
        features: of the first edges; those behind them have none.
        sets: the graph of each node, which no edge leaves; None for one graph.
    """

    features: Shaped[Tensor, "a f"] | None = None
    sets: Segments | None = None

    @staticmethod
    def of(edges: Edges, features: Tensor | None, sets: Segments | None) -> "Graph":
        """Give edges with features, sharing what is worked out from them.

        Args:
            edges: a graph or its edges.
            features: of the first edges.
            sets: the graph of each node.
        """
        return Graph(edges.index, edges.duplicates, edges.listing, features, sets)

    def keeps(self, keys: Any) -> bool:
        return keys is not None and keys is self.sets

    def extended(self, key: Hashable, more: Callable[[], Int[Tensor, "2 m"]], sets: Segments | None) -> "Graph":
        """Give the graph with more edges, which have no features; they are made once.

        Args:
            key: which edges.
            more: makes them.
            sets: the graph of each node, of those, too, that only the new edges lead to.
        """

        def make() -> Edges:
            return Edges(torch.cat([self.index, more()], dim=1), self.duplicates)

        return Graph.of(self.listing.memoized(("extended", key), make), self.features, sets)


def graph_of(tokens: Tokens) -> Graph:
    """Give the graph that the nodes of one row carry.

    Raises:
        InputError: If they carry none, or there are several rows.
    """
    if not isinstance(tokens.pattern, Graph) or len(tokens.x) != 1:
        raise InputError(f"a layer on edges reads one row of nodes and a Graph; got {tokens.pattern!r}")
    return tokens.pattern


@dataclass(frozen=True, eq=False)
class GraphStructure:
    """Hold which edges are read, and what is worked out from them: made once for a graph that is read again.

    Args:
        graph: the edges, without features.
        read: the edges, and which of the given ones they are.
        batch: the graph of each node; None for one graph.
        nodes: how many there are.
        graphs: how many there are.
    """

    graph: Graph
    read: ReadEdges
    batch: Int[Tensor, " n"] | None
    nodes: int
    graphs: int
    made: dict[Hashable, Any] = field(default_factory=dict)

    def memoized(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Make something at the first question and give it ever after."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def carrying(self, features: Tensor | None) -> Graph:
        """Give the graph with features of the edges that were given; self-loops that were added have none."""
        if features is None:
            return self.graph
        return Graph.of(self.graph, self.read.of_given(features), self.graph.sets)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def graph_structure(given: GraphInputs, rules: EdgeRules) -> GraphStructure:
    """Check edges and work out what is read; the same tensors are looked at once.

    Args:
        given: the graphs.
        rules: which edges are read.

    Raises:
        InputError: If an edge leads to no node or to another graph, or the graphs are not in order.
    """
    index, batch = given.edge_index, given.batch
    key = rules, given.x.shape[0], given.graphs

    def make() -> GraphStructure:
        return _structure(given, rules)

    if batch is None:
        return cached(index, key, make)
    return cached(index, "graphs", TensorCache)(batch, key, make)


def _structure(given: GraphInputs, rules: EdgeRules) -> GraphStructure:
    nodes = given.x.shape[0]
    if torch.compiler.is_exporting():  # a program reads the edges as they are: see `GraphModel.precomputed`
        rules = EdgeRules()
    read = rules.read(given.edge_index, nodes, nodes)
    if given.batch is None:
        return GraphStructure(Graph.of(read.edges, None, None), read, None, nodes, 1)
    batch = given.batch.detach().long()
    check_batch(batch, read.edges.index, given.graphs)
    graphs: Any = given.graphs or (batch[-1].item() + 1 if batch.shape[0] else 0)  # a symbol in an exported program
    torch._check(graphs >= 0)
    return GraphStructure(Graph.of(read.edges, None, Segments(batch[None], count=graphs)), read, batch, nodes, graphs)
