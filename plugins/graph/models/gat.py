"""GAT, GATv2 and TransformerConv networks as models; sizes are in `gat_sizes.py`.

Axes: n nodes, e edges, a features of edges.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, InputError, Stack, Tokens, configured
from zoo.plugins.graph.layers.edge_attention import EdgeAttention
from zoo.plugins.graph.layers.heads import node_head
from zoo.plugins.graph.models.graph_transformer import GraphConfig, GraphModel
from zoo.plugins.graph.structure.edge_rules import EdgeRules, SelfLoops
from zoo.plugins.graph.structure.graph_inputs import read
from zoo.plugins.graph.structure.graph_pattern import Graph, graph_of, graph_structure
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
        """Return the attention output of each node."""
        x, graph = tokens.x.squeeze(0), graph_of(tokens)
        return self.layer(x, x, graph, graph.features)[None]

    @property
    def num_heads(self) -> int:
        """Heads of the weights."""
        return self.layer.heads

    def by_edge(self, tokens: Tokens) -> tuple[Float[Tensor, "e h"], Graph]:
        """Give the weights of the edges, and the graph."""
        x, graph = tokens.x.squeeze(0), graph_of(tokens)
        return self.layer.score_inputs(x, x, graph, graph.features).weights(), graph

    def weights(self, tokens: Tokens) -> Float[Tensor, "1 h n n"]:
        """Give the weights of all pairs; 0 where no edge is, and the sum where there are several."""
        by_edge, graph = self.by_edge(tokens)
        (source, target), n = graph.index, tokens.x.shape[1]
        square = tokens.x.new_zeros(by_edge.shape[1], n * n).index_add(1, target * n + source, by_edge.T)
        return square.view(1, -1, n, n)


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


@dataclass(frozen=True, kw_only=True)
class GatConfig(GraphConfig):
    """Sizes and options of `gat`; features of nodes and edges are channels, of nodes at least one.

    Args:
        dim: channels of a head.
        depth: layers, with that of the labels of `tag`.
        out_heads: heads of the layer that gives labels, of which the mean is taken.
        score: `gat`, `gatv2` or `scaled_dot`.
        root: as for `EdgeAttention`.
        skip: whether layers that are as wide as the one before add its vectors to what is read.
        norm: behind each layer but that of the labels, `layer` or `none`.
        activation: behind it, `elu` or `relu`.
        self_loops: as for `GraphConfig`; the paper's nodes read themselves.
        dropout: probability in [0, 1), of numbers of vectors and of weights.
    """

    dim: int = 8
    depth: int = 2
    num_heads: int = 8
    out_heads: int = 1
    task: str = "tag"
    score: str = "gat"
    root: str | None = None
    skip: bool = False
    norm: str = "none"
    activation: str = "elu"
    self_loops: SelfLoops = "replace"
    dropout: float = 0.6


@configured(GatConfig)
def gat(config: GatConfig) -> GraphModel:
    """Compose layers of attention on edges: arXiv:1710.10903 sec. 3.3, arXiv:2105.14491, arXiv:2009.03509 sec. 3.2.

    Args:
        config: its fields are the keywords, see `GatConfig` and `GraphConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    depth, norm, dropout = config.depth, config.norm, config.dropout
    if depth < 2:
        raise ConfigError(f"depth={depth}: there are at least two layers, the last for labels")
    if norm not in ("layer", "none"):
        raise ConfigError(f"norm={norm!r} is not one of layer, none")
    stem = RawNodes(config.node_features, config.edge_features, config.rules)
    options: dict[str, Any] = {"score": config.score, "root": config.root, "edge_dim": config.edge_features or None}
    width = config.num_heads * config.dim
    tag = config.task == "tag"
    blocks = [
        GraphLayer(
            EdgeAttention(channels, config.dim, config.num_heads, dropout=dropout, **options),
            dropout,
            nn.LayerNorm(width) if norm == "layer" else None,
            config.activation,
            config.skip and index > 0,
        )
        for index, channels in enumerate([stem.node_features, *[width] * (depth - 1 - tag)])
    ]
    if tag:
        tags = AttentionTag(width, config.num_classes, config.out_heads, dropout, **options)
        return GraphModel(stem, Stack(blocks), tags)
    return GraphModel(stem, Stack(blocks), node_head(config.task, width, config.num_classes, config.pool))
