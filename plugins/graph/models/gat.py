"""Networks of attention on edges: GAT, GATv2 and layers as TransformerConv's, as models; sizes are in `gat_names.py`.

Axes: n nodes, e edges, a features of edges.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.transformer import Stack
from zoo.core.losses.loss import TARGETS
from zoo.core.patterns.edge_index import Duplicates
from zoo.core.tokens import Tokens
from zoo.plugins.graph.layers.edge_attention import EdgeAttention
from zoo.plugins.graph.layers.heads import node_head
from zoo.plugins.graph.models.graph_transformer import GraphModel
from zoo.plugins.graph.structure.edge_rules import Direction, EdgeRules, SelfLoops
from zoo.plugins.graph.structure.graph_inputs import read
from zoo.plugins.graph.structure.graph_pattern import Graph, graph_structure
from zoo.plugins.graph.tokens.feature_encoders import Kinds, check_features

ACTIVATIONS: dict[str, type[nn.Module]] = {"elu": nn.ELU, "relu": nn.ReLU, "none": nn.Identity}


class RawNodes(nn.Module):
    """Give nodes as they come: the first layer of these networks has its own projection.

    Args:
        node_features: channels of `x`.
        edge_features: channels of `edge_attr`; of 0 it is not read.
        rules: which edges are read.

    Raises:
        ConfigError: If nodes have no channels.
    """

    def __init__(self, node_features: Kinds, edge_features: Kinds, rules: EdgeRules) -> None:
        super().__init__()
        if not isinstance(node_features, int) or not isinstance(edge_features, int):
            shown = f"node_features={node_features!r}, edge_features={edge_features!r}"
            raise ConfigError(f"{shown}: these networks read numbers, not categories; graph-tiny and others read both")
        if node_features < 1 or edge_features < 0:
            raise ConfigError(f"node_features={node_features}, edge_features={edge_features}: nodes have at least one")
        self.node_features, self.edge_features, self.rules = node_features, edge_features, rules
        self.precision: Tensor
        self.register_buffer("precision", torch.empty(0), persistent=False)  # the model's, which features have to have

    def forward(self, *inputs: Any) -> Tokens:
        """Give the vectors; see `NodeStem.forward`.

        Raises:
            InputError: If a shape, dtype or value does not fit; the text names the first.
        """
        given = read(inputs)
        check_features(given.x, self.node_features, "x", self.precision.dtype)
        graphs = graph_structure(given, self.rules)
        graph = graphs.graph
        if self.edge_features:
            if given.edge_attr is None:
                raise InputError(f"no edge_attr for a model made with edge_features={self.edge_features}")
            attr = given.edge_attr[:, None] if given.edge_attr.ndim == 1 else given.edge_attr
            check_features(attr, self.edge_features, "edge_attr", self.precision.dtype)
            graph = Graph.of(graph, graphs.read.features(attr), graph.sets)
        return Tokens(given.x[None], graph, graphs.graph.sets)


class OnEdges(nn.Module):
    """Let nodes read along the edges that their tokens carry.

    Args:
        layer: the attention.
    """

    def __init__(self, layer: EdgeAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, tokens: Tokens) -> Float[Tensor, "1 n w"]:
        """Give each node what it reads."""
        x, graph = tokens.x.squeeze(0), _graph(tokens)
        return self.layer(x, x, graph, graph.features)[None]

    def by_edge(self, tokens: Tokens) -> tuple[Float[Tensor, "e h"], Graph]:
        """Give the weights of the edges, and the graph."""
        x, graph = tokens.x.squeeze(0), _graph(tokens)
        return self.layer.ask(x, x, graph, graph.features).weights(), graph

    def weights(self, tokens: Tokens) -> Float[Tensor, "1 h n n"]:
        """Give the weights of all pairs; 0 where no edge is, and the sum where there are several."""
        by_edge, graph = self.by_edge(tokens)
        (source, target), n = graph.index, tokens.x.shape[1]
        square = tokens.x.new_zeros(by_edge.shape[1], n * n).index_add(1, target * n + source, by_edge.T)
        return square.view(1, -1, n, n)


def _graph(tokens: Tokens) -> Graph:
    if not isinstance(tokens.pattern, Graph) or len(tokens.x) != 1:
        raise InputError(f"attention on edges reads one row of nodes and a Graph; got {tokens.pattern!r}")
    return tokens.pattern


class GraphLayer(nn.Module):
    """Attention on edges, with dropout before, and a norm and an activation behind.

    Args:
        layer: the attention.
        dropout: probability in [0, 1) that a number of a vector is dropped.
        norm: behind the attention; none if None.
        activation: behind the norm: `elu`, `relu` or `none`.
        skip: whether the vectors that come in are added to what is read, in front of the norm.

    Raises:
        ConfigError: If the activation is none of these.
    """

    def __init__(
        self,
        layer: EdgeAttention,
        dropout: float = 0.0,
        norm: nn.Module | None = None,
        activation: str = "none",
        skip: bool = False,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ConfigError(f"activation={activation!r} is not one of {', '.join(ACTIVATIONS)}")
        self.dropout = nn.Dropout(dropout)
        self.attention = OnEdges(layer)
        self.norm = nn.Identity() if norm is None else norm
        self.activation = ACTIVATIONS[activation]()
        self.skip = skip

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same nodes with new vectors."""
        y = self.attention(tokens.with_x(self.dropout(tokens.x)))
        return tokens.with_x(self.behind(tokens.x, y))

    def behind(self, x: Float[Tensor, "*n d"], read: Float[Tensor, "*n w"]) -> Float[Tensor, "*n w"]:
        """Give the new vectors of nodes that read something.

        Args:
            x: vectors that came in.
            read: what they read.
        """
        return self.activation(self.norm(x + read if self.skip else read))


class AttentionTag(nn.Module):
    """A label for each node from one more layer of attention, the mean of whose heads is the score.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the vectors are the answer.
        heads: heads.
        dropout: probability in [0, 1), of numbers of vectors and of weights.
        options: as for `EdgeAttention`.
    """

    def __init__(self, dim: int, num_classes: int, heads: int, dropout: float, **options: Any) -> None:
        super().__init__()
        self.dim = dim
        self._options = {"heads": heads, "dropout": dropout, "concat": False, **options}
        self.reset(num_classes)

    def reset(self, num_classes: int) -> None:
        """Replace the layer by a fresh one, on the device and in the dtype of the old."""
        if num_classes < 0:
            raise ConfigError(f"num_classes={num_classes} is negative")
        like = next(self.parameters(), None)
        self.num_classes = num_classes
        self.classifier: nn.Module = nn.Identity()
        if num_classes:
            layer = EdgeAttention(self.dim, num_classes, **self._options)
            self.classifier = GraphLayer(layer, self._options["dropout"])
        if like is not None:
            self.classifier.to(like.device, like.dtype)

    def forward(self, tokens: Tokens) -> Float[Tensor, "n classes"]:
        """Give a score for each label, for each node."""
        return self.classifier(tokens).x.squeeze(0)


def gat(
    *,
    node_features: Kinds,
    edge_features: Kinds = 0,
    dim: int = 8,
    depth: int = 2,
    num_heads: int = 8,
    out_heads: int = 1,
    num_classes: int = 0,
    task: str = "tag",
    target: str = "class",
    score: str = "gat",
    root: str | None = None,
    skip: bool = False,
    norm: str = "none",
    activation: str = "elu",
    direction: Direction = "forward",
    self_loops: SelfLoops = "replace",
    duplicates: Duplicates = "each",
    pool: str = "mean",
    dropout: float = 0.6,
) -> GraphModel:
    """Compose layers of attention on edges: arXiv:1710.10903 sec. 3.3, arXiv:2105.14491, arXiv:2009.03509 sec. 3.2.

    Args:
        node_features: channels of `x`.
        edge_features: channels of `edge_attr`; 0 for none.
        dim: channels of a head.
        depth: layers, with that of the labels of `tag`.
        num_heads: heads of each layer, side by side.
        out_heads: heads of the layer that gives labels, of which the mean is taken.
        num_classes: labels; 0 for features.
        task: `tag` (a label for each node), `classify` (for each graph), `link` or `features`.
        target: what the answers mean, see `zoo.core.losses.loss.TARGETS`: one `class`, `labels` or `numbers`.
        score: `gat`, `gatv2` or `scaled_dot`.
        root: as for `EdgeAttention`.
        skip: whether layers that are as wide as the one before add its vectors to what is read.
        norm: behind each layer but that of the labels, `layer` or `none`.
        activation: behind it, `elu` or `relu`.
        direction: as for `EdgeRules`.
        self_loops: the same; the paper's nodes read themselves.
        duplicates: the same.
        pool: how `classify` makes one vector of a graph's nodes.
        dropout: probability in [0, 1), of numbers of vectors and of weights.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    if target not in TARGETS:
        raise ConfigError(f"target={target!r} is not one of {', '.join(TARGETS)}")
    if depth < 2:
        raise ConfigError(f"depth={depth}: there are at least two layers, the last for labels")
    if norm not in ("layer", "none"):
        raise ConfigError(f"norm={norm!r} is not one of layer, none")
    stem = RawNodes(node_features, edge_features, EdgeRules(self_loops, direction, duplicates))
    assert isinstance(node_features, int)
    assert isinstance(edge_features, int)
    options: dict[str, Any] = {"score": score, "root": root, "edge_dim": edge_features or None}
    width = num_heads * dim
    layers = depth - 1 if task == "tag" else depth
    blocks = [
        GraphLayer(
            EdgeAttention(width if index else node_features, dim, num_heads, dropout=dropout, **options),
            dropout,
            nn.LayerNorm(width) if norm == "layer" else None,
            activation,
            skip and index > 0,
        )
        for index in range(layers)
    ]
    if task == "tag":
        return GraphModel(stem, Stack(blocks), AttentionTag(width, num_classes, out_heads, dropout, **options))
    return GraphModel(stem, Stack(blocks), node_head(task, width, num_classes, pool))
