"""Graph transformers: Transformer blocks whose attention follows the edges; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from zoo.core import (
    TARGETS,
    Attention,
    AttentionLayer,
    ConfigError,
    Duplicates,
    Encoder,
    Full,
    InputError,
    Model,
    configured,
    init_weights,
)
from zoo.plugins.graph.layers.heads import Link, node_head
from zoo.plugins.graph.models.gps_layers import gps_encoder
from zoo.plugins.graph.structure.edge_rules import Direction, EdgeRules, SelfLoops
from zoo.plugins.graph.structure.graph_inputs import ORDER, check_ends, read
from zoo.plugins.graph.structure.graph_pattern import graph_structure
from zoo.plugins.graph.tokens.edge_encoding import with_relation
from zoo.plugins.graph.tokens.feature_encoders import Kinds
from zoo.plugins.graph.tokens.node_stem import NodeStem
from zoo.plugins.graph.tokens.virtual_nodes import VirtualNodes


class GraphModel(Model):
    """A model of graphs: `(x, edge_index, edge_attr, batch)`, or one `Data` or `Batch` of PyTorch Geometric.

    For links, pairs of nodes (2, p) follow the tensors, or stand in `edge_label_index` of the `Data`.
    """

    def input_names(self) -> list[str]:
        """See `Composition.input_names`."""
        return list(ORDER)

    def portable(self) -> dict[str, Any]:
        """Describe which edges are read as JSON values, for exported models."""
        rules = self.stem.rules
        return {"kind": "graph", "direction": rules.direction, "self_loops": rules.self_loops}

    def precomputed(self, *inputs: Any) -> tuple[Any, ...]:
        """Give the inputs of an exported program: edges and their features after the rules, which look at values."""
        given, stem = read(inputs), self.stem
        graphs = graph_structure(given, stem.rules)
        attr = given.edge_attr
        if attr is not None and stem.edge_features:
            graph = stem(*inputs).pattern
            attr = graph.features if attr.ndim > 1 else graph.features.squeeze(1)
        return (given.x, graphs.graph.index, attr if stem.edge_features else None, *inputs[3:])

    def forward(self, *inputs: Any, **others: Any) -> Tensor:
        """Give the answer of the model's task: for graphs, nodes, or pairs of nodes.

        Raises:
            InputError: If links are asked for and no pairs are given, or a pair is of no nodes.
        """
        if others or not isinstance(self.head, Link):
            return super().forward(*inputs, **others)
        given = read(inputs)
        if given.pairs is None:
            raise InputError("task='link' scores pairs of nodes: give them (2, p) behind batch, or as edge_label_index")
        check_ends("pairs", given.pairs, len(given.x))
        return self.head(self.encoder(self.stem(*inputs)), given.pairs)


@dataclass(frozen=True, kw_only=True)
class NodesConfig:
    """Sizes and options of a model of graphs.

    Args:
        node_features: channels of `x`, or the categories of each of its columns; 0 where only the edges count.
        edge_features: the same for `edge_attr`; of 0 it is not read.
        dim: channels of a node.
        depth: blocks.
        num_classes: labels of `classify` and `tag`, numbers that are predicted, or kinds of links; 0 for none.
        task: `classify` (of each graph), `tag` (of each node), `link` (pairs of nodes) or `features`.
        target: what the answers mean: scores of which one `class` is right, or of `labels` of which any may be, or
            `numbers`; it changes the loss, see `zoo.core.losses.loss.TARGETS`, and how `zoo.postprocess` reads answers.
        pool: how `classify` makes one vector of a graph's nodes: `mean`, `sum` or `max`.
        direction: `forward`: the target of an edge reads its source, as in PyTorch Geometric; `backward`; or `both`.
        self_loops: `keep` those that there are, `add` missing ones, `remove` them, or `replace` them by one for each.
        duplicates: of equal edges `each` counts, as in PyTorch Geometric; or they count `once`; or are an `error`.
        dropout: probability in [0, 1), of the vectors, after attention and in each MLP.

    Raises:
        ConfigError: If the target is none of these.
    """

    node_features: Kinds = 0
    edge_features: Kinds = 0
    dim: int = 64
    depth: int = 4
    num_classes: int = 0
    task: str = "classify"
    target: str = "class"
    pool: str = "mean"
    direction: Direction = "forward"
    self_loops: SelfLoops = "keep"
    duplicates: Duplicates = "each"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ConfigError(f"target={self.target!r} is not one of {', '.join(TARGETS)}")

    @property
    def rules(self) -> EdgeRules:
        """Give which edges are read."""
        return EdgeRules(self.self_loops, self.direction, self.duplicates)


@dataclass(frozen=True, kw_only=True)
class GraphConfig(NodesConfig):
    """Sizes and options of a model of graphs whose attention follows the edges; `num_heads` are its heads."""

    num_heads: int = 4


@dataclass(frozen=True, kw_only=True)
class EdgeTransformerConfig(GraphConfig):
    """Sizes and options of Transformers with positions of nodes, and nodes that read all.

    Args:
        mlp_dim: channels inside each MLP.
        units: mean and deviation of each number of `numbers`, so that what is learned is about 0 and 1.
        attention: makes the attention along the edges from (dim, num_heads).
        position: `random-walk`, `laplacian` (with random signs in training), `degree` or `none`, added to the vectors.
        position_dim: steps, eigenvectors, or different degrees.
        edges_as: how attention reads features of edges: `vectors` for keys and values, or a `bias` of scores.
        virtual_nodes: nodes that read all and are read by all, added to each graph.
        global_nodes: nodes of each graph, by their number, that read all and are read by all.
    """

    mlp_dim: int = 128
    units: Sequence[Sequence[float]] = ()
    attention: Callable[[int, int], nn.Module] = Attention
    position: str = "random-walk"
    position_dim: int = 16
    edges_as: str = "vectors"
    virtual_nodes: int = 0
    global_nodes: Sequence[int] = ()

    def model(self, stack: Callable[..., nn.Module], **options: Any) -> GraphModel:
        """Make the model.

        Args:
            stack: makes the blocks from dim, depth, num_heads, mlp_dim, `attention` and `dropout`.
            options: its other keywords.
        """
        stem = NodeStem(
            self.dim,
            self.node_features,
            self.edge_features,
            position=self.position,
            position_dim=self.position_dim,
            rules=self.rules,
            global_nodes=self.global_nodes,
            dropout=self.dropout,
        )
        make = with_relation(self.attention, self.edge_features, self.edges_as)
        sizes = self.dim, self.depth, self.num_heads, self.mlp_dim
        encoder = stack(*sizes, attention=make, dropout=self.dropout, **options)
        for part in encoder.modules():
            if isinstance(part, AttentionLayer) and part.pattern != Full():
                raise ConfigError(f"{part.pattern!r} needs an order of tokens, and nodes have none: see global_nodes=")
        encoder = VirtualNodes(encoder, self.dim, self.virtual_nodes) if self.virtual_nodes else encoder
        model = GraphModel(stem, encoder, node_head(self.task, self.dim, self.num_classes, self.pool, self.units))
        init_weights(model)
        return model


@dataclass(frozen=True, kw_only=True)
class GraphTransformerConfig(EdgeTransformerConfig):
    """Sizes and options of `graph_transformer`; `eps` is that of the layer norms."""

    eps: float = 1e-5


@configured(GraphTransformerConfig)
def graph_transformer(config: GraphTransformerConfig) -> GraphModel:
    """Compose nodes, a pre-norm encoder whose attention reads along the edges, and a head: arXiv:2012.09699.

    Cost and memory grow with nodes and edges. A node that reads nothing keeps its vector by the residuals.

    Args:
        config: its fields are the keywords, see `GraphConfig` and `EdgeTransformerConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    return config.model(Encoder, eps=config.eps)


@dataclass(frozen=True, kw_only=True)
class GpsConfig(EdgeTransformerConfig):
    """Sizes and options of `gps`; `num_heads` are those of both attentions.

    Args:
        wide: how a node reads its whole graph: `full`, or `linear` in its nodes.
        norm: `layer`, so that graphs of a batch know nothing of each other in training; or `batch`, as in the paper.
    """

    depth: int = 10
    wide: str = "full"
    norm: str = "layer"


@configured(GpsConfig)
def gps(config: GpsConfig) -> GraphModel:
    """Compose nodes, blocks that read along the edges and the whole graph side by side, and a head: arXiv:2205.12454.

    The paper's layers along the edges are other ones (GINE, GatedGCN); here they are attention, too.

    Args:
        config: its fields are the keywords, see `GpsConfig`, `GraphConfig` and `EdgeTransformerConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    return config.model(gps_encoder, wide=config.wide, norm=config.norm)
