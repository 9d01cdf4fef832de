"""`NodeStem`: from graphs to `Tokens`: nodes are the vectors, edges the pattern, several graphs a row of packed sets.

Axes: n nodes, d channels.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from zoo.core import ConfigError, InputError, Tokens
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, read
from zoo.plugins.graph.structure.graph_pattern import graph_structure
from zoo.plugins.graph.tokens.feature_encoders import Kinds, check_features, check_kinds, features
from zoo.plugins.graph.tokens.positional_encodings import node_position
from zoo.plugins.graph.tokens.virtual_nodes import global_edges

AS_GIVEN = EdgeRules()


class NodeStem(nn.Module):
    """Give a vector for each node of one graph or several: nothing is padded.

    What is worked out from edges (their order, positions of nodes) is kept as long as the very same `edge_index`, and
    shared by all layers.

    Args:
        dim: channels.
        node_features: channels of `x`, or the categories of each of its columns; 0 where only the edges count.
        edge_features: the same for `edge_attr`; of 0 it is not read.
        position: `random-walk`, `laplacian`, `degree` or `none`: what is added to the vectors.
        position_dim: steps, eigenvectors, or different degrees.
        rules: which edges are read: their direction, self-loops, and what equal edges mean; as they are given, and
            each counts, as in PyTorch Geometric's TransformerConv.
        global_nodes: nodes of each graph, by their number, that read all its nodes and are read by them: `Edges |
            Globals`, graph by graph.
        dropout: probability in [0, 1).

    Raises:
        ConfigError: If a position is none of these.
    """

    def __init__(
        self,
        dim: int,
        node_features: Kinds,
        edge_features: Kinds = 0,
        *,
        position: str = "none",
        position_dim: int = 16,
        rules: EdgeRules = AS_GIVEN,
        global_nodes: Sequence[int] = (),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_kinds(node_features, "node_features")
        check_kinds(edge_features, "edge_features")
        self.node_features = node_features
        self.features = features(node_features, dim)
        self.edge_features = edge_features
        self.rules = rules
        self.global_nodes = tuple(global_nodes)
        if any(node < 0 for node in self.global_nodes):
            raise ConfigError(f"global_nodes={list(global_nodes)}: nodes are not negative")
        self.position = node_position(position, dim, position_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, *inputs: Any) -> Tokens:
        """Give the vectors.

        Args:
            inputs: x (n, features), edge_index (2, edges), edge_attr (edges, features) or None, batch (n,) or None for
                one graph; or one `Data` or `Batch`. Pairs that are asked about may follow; they are not read here.

        Raises:
            InputError: If a shape, dtype or value does not fit; the text names the first.
        """
        given = read(inputs)
        check_features(given.x, self.node_features, "x", self.features.weight.dtype)
        graphs = graph_structure(given, self.rules)
        x = self.features(given.x)
        if self.position is not None:
            x = x + self.position(graphs).to(x.dtype)
        graph = graphs.carrying(self._of_edges(given))
        if self.global_nodes:
            graph = graph.extended(
                ("global", self.global_nodes), lambda: global_edges(graphs, self.global_nodes), graph.sets
            )
        return Tokens(self.dropout(x)[None], graph, graph.sets)

    def _of_edges(self, given: GraphInputs) -> Tensor | None:
        """Give the features of edges, where the model reads them."""
        if self.edge_features == 0:
            return None
        attr = given.edge_attr
        if attr is None:
            raise InputError(f"no edge_attr for a model made with edge_features={self.edge_features!r}")
        attr = attr[:, None] if attr.ndim == 1 else attr
        check_features(attr, self.edge_features, "edge_attr", self.features.weight.dtype)
        return attr
