"""Graph convolutional networks of PyTorch Geometric's `GCNConv`; sizes are in `plugin.py`.

Axes: n nodes, d channels.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import ConfigError, Stack, Tokens, configured, relu
from zoo.plugins.graph.layers.heads import node_head
from zoo.plugins.graph.models.gps_layers import NodeNorm
from zoo.plugins.graph.models.graph_transformer import GraphModel, NodesConfig
from zoo.plugins.graph.structure.graph_pattern import Graph, graph_of
from zoo.plugins.graph.tokens.node_stem import NodeStem

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")  # which is used while it is imported
    from torch_geometric.nn import GCNConv
    from torch_geometric.nn.conv.gcn_conv import gcn_norm


class GcnBlock(nn.Module):
    """A graph convolution, batch norm, ReLU and a residual: arXiv:1609.02907 eq. 2, in the block of arXiv:2003.00982.

    Args:
        dim: channels.
        dropout: probability in [0, 1), of what is added.
    """

    def __init__(self, dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv = GCNConv(dim, dim, normalize=False)  # `normed` does that, once for all blocks
        self.norm = NodeNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same nodes with new vectors."""
        x = tokens.x.squeeze(0)
        index, weights = normed(graph_of(tokens), x.shape[0], x.dtype)
        y: Float[Tensor, "n d"] = self.conv(x, index.to(x.device), weights.to(x.device))
        return tokens.with_x(tokens.x + self.dropout(relu(self.norm(y[None]))))


def normed(graph: Graph, nodes: int, dtype: torch.dtype) -> tuple[Int[Tensor, "2 e"], Float[Tensor, " e"]]:
    """Give the edges with loops, and their weights by degrees (arXiv:1609.02907 eq. 2), which the graph keeps.

    Args:
        graph: the edges.
        nodes: how many there are.
        dtype: of the weights.
    """

    def make() -> tuple[Tensor, Tensor]:
        return gcn_norm(graph.index, None, nodes, dtype=dtype)

    exported = torch.compiler.is_compiling()  # the number of nodes is a symbol then, and no key
    return make() if exported else graph.listing.memoized(("gcn", nodes, dtype), make)


@dataclass(frozen=True, kw_only=True)
class GcnConfig(NodesConfig):
    """Sizes and options of `gcn`.

    Args:
        edge_features: those of the data; a graph convolution does not read them, it weighs edges by degrees alone.
        units: mean and deviation of each number of `numbers`, so that what is learned is about 0 and 1.
        position: as in `EdgeTransformerConfig`.
        position_dim: as in `EdgeTransformerConfig`.
        dropout: probability in [0, 1), of the vectors and of what each block adds.
    """

    units: Sequence[Sequence[float]] = ()
    position: str = "random-walk"
    position_dim: int = 16


@configured(GcnConfig)
def gcn(config: GcnConfig) -> GraphModel:
    """Compose nodes, graph convolutions (arXiv:1609.02907), and a head.

    The paper's network has two layers and no positions; here nodes begin as those of `graph_transformer` do, so that
    the two differ in what mixes the nodes.

    Args:
        config: its fields are the keywords, see `GcnConfig` and `NodesConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    if config.depth < 1:
        raise ConfigError(f"depth={config.depth}: a stack has at least one block")
    stem = NodeStem(
        config.dim,
        config.node_features,
        position=config.position,
        position_dim=config.position_dim,
        rules=config.rules,
        dropout=config.dropout,
    )
    blocks = (GcnBlock(config.dim, config.dropout) for _ in range(config.depth))
    answer = node_head(config.task, config.dim, config.num_classes, config.pool, config.units)
    return GraphModel(stem, Stack(blocks), answer)
