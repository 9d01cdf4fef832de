"""The models of graphs: Transformer blocks whose attention follows the edges; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.attention import Attention
from zoo.core.layers.init import init_weights
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.layers.transformer import Encoder
from zoo.core.losses.loss import TARGETS
from zoo.core.models.model import Model
from zoo.core.patterns.edge_index import Duplicates
from zoo.core.patterns.pattern import Full
from zoo.plugins.graph.layers.heads import Link, node_head
from zoo.plugins.graph.models.gps_layers import gps_encoder
from zoo.plugins.graph.structure.edge_rules import Direction, EdgeRules, SelfLoops
from zoo.plugins.graph.structure.graph_inputs import check_ends, read
from zoo.plugins.graph.tokens.edge_encoding import with_relation
from zoo.plugins.graph.tokens.node_stem import NodeStem
from zoo.plugins.graph.tokens.virtual_nodes import VirtualNodes

Kinds = int | Sequence[int]


class GraphModel(Model):
    """A model of graphs: `(x, edge_index, edge_attr, batch)`, or one `Data` or `Batch` of PyTorch Geometric.

    For links, pairs of nodes (2, p) follow the tensors, or stand in `edge_label_index` of the `Data`.
    """

    def forward(self, *inputs: Any) -> Tensor:
        """Give the answer of the model's task: for graphs, nodes, or pairs of nodes.

        Raises:
            InputError: If links are asked for and no pairs are given, or a pair is of no nodes.
        """
        if not isinstance(self.head, Link):
            return super().forward(*inputs)
        given = read(inputs)
        if given.pairs is None:
            raise InputError("task='link' scores pairs of nodes: give them (2, p) behind batch, or as edge_label_index")
        check_ends("pairs", given.pairs, len(given.x))
        return self.head(self.encoder(self.stem(*inputs)), given.pairs)


def graph_transformer(
    *,
    node_features: Kinds = 0,
    edge_features: Kinds = 0,
    dim: int = 64,
    depth: int = 4,
    num_heads: int = 4,
    mlp_dim: int = 128,
    num_classes: int = 0,
    task: str = "classify",
    target: str = "class",
    units: Sequence[Sequence[float]] = (),
    pool: str = "mean",
    attention: Callable[[int, int], nn.Module] = Attention,
    position: str = "random-walk",
    position_dim: int = 16,
    edges_as: str = "vectors",
    direction: Direction = "forward",
    self_loops: SelfLoops = "keep",
    duplicates: Duplicates = "each",
    virtual_nodes: int = 0,
    global_nodes: Sequence[int] = (),
    dropout: float = 0.0,
    eps: float = 1e-5,
) -> GraphModel:
    """Compose nodes, a pre-norm encoder whose attention reads along the edges, and a head: arXiv:2012.09699.

    Cost and memory grow with nodes and edges. A node that reads nothing keeps its vector by the residuals.

    Args:
        node_features: channels of `x`, or the categories of each of its columns; 0 where only the edges count.
        edge_features: the same for `edge_attr`; of 0 it is not read.
        dim: channels.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels of `classify` and `tag`, numbers that are predicted, or kinds of links; 0 for none.
        task: `classify` (of each graph), `tag` (of each node), `link` (pairs of nodes) or `features`.
        target: what the answers mean: scores of which one `class` is right, or of `labels` of which any may be, or
            `numbers`; it changes the loss, see `zoo.core.losses.loss.TARGETS`, and how `zoo.postprocess` reads answers.
        units: mean and deviation of each number of `numbers`, so that what is learned is about 0 and 1.
        pool: how `classify` makes one vector of a graph's nodes: `mean`, `sum` or `max`.
        attention: makes an attention from (dim, num_heads); it is limited to the edges.
        position: `random-walk`, `laplacian` (with random signs in training), `degree` or `none`, added to the vectors.
        position_dim: steps, eigenvectors, or different degrees.
        edges_as: how attention reads features of edges: `vectors` for keys and values, or a `bias` of scores.
        direction: `forward`: the target of an edge reads its source, as in PyTorch Geometric; `backward`; or `both`.
        self_loops: `keep` those that there are, `add` missing ones, `remove` them, or `replace` them by one for each.
        duplicates: of equal edges `each` counts, as in PyTorch Geometric; or they count `once`; or are an `error`.
        virtual_nodes: nodes that read all and are read by all, added to each graph.
        global_nodes: nodes of each graph, by their number, that read all and are read by all.
        dropout: probability in [0, 1), of the vectors, after attention and in each MLP.
        eps: of the layer norms.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    rules = EdgeRules(self_loops, direction, duplicates)
    places = {"position": position, "position_dim": position_dim, "global_nodes": global_nodes}
    stem = NodeStem(dim, node_features, edge_features, rules=rules, dropout=dropout, **places)  # type: ignore[arg-type]
    make = with_relation(attention, edge_features, edges_as)
    encoder = Encoder(dim, depth, num_heads, mlp_dim, attention=make, dropout=dropout, eps=eps)
    return _model(stem, encoder, dim, virtual_nodes, task, num_classes, pool, target, units)


def gps(
    *,
    node_features: Kinds = 0,
    edge_features: Kinds = 0,
    dim: int = 64,
    depth: int = 10,
    num_heads: int = 4,
    mlp_dim: int = 128,
    num_classes: int = 0,
    task: str = "classify",
    target: str = "class",
    units: Sequence[Sequence[float]] = (),
    pool: str = "mean",
    attention: Callable[[int, int], nn.Module] = Attention,
    wide: str = "full",
    norm: str = "layer",
    position: str = "random-walk",
    position_dim: int = 16,
    edges_as: str = "vectors",
    direction: Direction = "forward",
    self_loops: SelfLoops = "keep",
    duplicates: Duplicates = "each",
    virtual_nodes: int = 0,
    global_nodes: Sequence[int] = (),
    dropout: float = 0.0,
) -> GraphModel:
    """Compose nodes, blocks that read along the edges and the whole graph side by side, and a head: arXiv:2205.12454.

    The paper's layers along the edges are other ones (GINE, GatedGCN); here they are attention, too.

    Args:
        node_features: as for `graph_transformer`.
        edge_features: as there.
        dim: channels.
        depth: blocks.
        num_heads: heads of both attentions.
        mlp_dim: channels inside each MLP.
        num_classes: as there.
        task: as there.
        target: as there.
        units: as there.
        pool: as there.
        attention: makes the attention along the edges from (dim, num_heads).
        wide: how a node reads its whole graph: `full`, or `linear` in its nodes.
        norm: `layer`, so that graphs of a batch know nothing of each other in training; or `batch`, as in the paper.
        position: as there.
        position_dim: as there.
        edges_as: as there.
        direction: as there.
        self_loops: as there.
        duplicates: as there.
        virtual_nodes: as there.
        global_nodes: as there.
        dropout: probability in [0, 1), of the vectors, after attention and in each MLP.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    rules = EdgeRules(self_loops, direction, duplicates)
    places = {"position": position, "position_dim": position_dim, "global_nodes": global_nodes}
    stem = NodeStem(dim, node_features, edge_features, rules=rules, dropout=dropout, **places)  # type: ignore[arg-type]
    make = with_relation(attention, edge_features, edges_as)
    encoder = gps_encoder(dim, depth, num_heads, mlp_dim, attention=make, wide=wide, norm=norm, dropout=dropout)
    return _model(stem, encoder, dim, virtual_nodes, task, num_classes, pool, target, units)


def _model(
    stem: nn.Module,
    encoder: nn.Module,
    dim: int,
    virtual_nodes: int,
    task: str,
    num_classes: int,
    pool: str,
    target: str,
    units: Sequence[Sequence[float]],
) -> GraphModel:
    if target not in TARGETS:
        raise ConfigError(f"target={target!r} is not one of {', '.join(TARGETS)}")
    for part in encoder.modules():
        if isinstance(part, AttentionLayer) and part.pattern != Full():
            raise ConfigError(f"{part.pattern!r} counts places, and nodes stand on no line; see global_nodes=")
    encoder = VirtualNodes(encoder, dim, virtual_nodes) if virtual_nodes else encoder
    model = GraphModel(stem, encoder, node_head(task, dim, num_classes, pool, units))
    init_weights(model)
    return model
