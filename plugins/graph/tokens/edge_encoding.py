"""Edge features inside attention: a bias for each score, or a vector added to each key and value.

Axes: e edges, h heads, d channels of a head.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core import (
    And,
    AttentionLayer,
    AttentionPosition,
    Bias,
    ConfigError,
    EdgeBias,
    EdgeKinds,
    HeadSizes,
    InputError,
    Or,
    Pattern,
    Tokens,
)
from zoo.plugins.graph.structure.graph_pattern import Graph
from zoo.plugins.graph.structure.tensor_cache import cached
from zoo.plugins.graph.tokens.feature_encoders import Categories, Distinct, Kinds, distinct, features

ROLES = ("vectors", "bias")


class Relation(AttentionPosition):
    """Edge encoding in attention: from an edge's features a bias of its score, or vectors added to key and value.

    It stands where positions act inside attention elsewhere: between nodes there is no offset, but an edge.

    Args:
        kinds: features of edges: channels, or categories of each column.
        sizes: of the heads of the attention.
        role: `vectors` are added to keys and values (arXiv:2009.03509 eq. 3 and 4), or a `bias` of each head to scores,
            which takes far less memory.

    Raises:
        ConfigError: If the role is neither, or keys and values have different channels.
    """

    def __init__(self, kinds: Kinds, sizes: HeadSizes, role: str = "vectors") -> None:
        super().__init__()
        if role not in ROLES:
            raise ConfigError(f"edges_as={role!r} is not one of {', '.join(ROLES)}")
        if role == "vectors" and sizes.head_dim != sizes.value_dim:
            shown = f"keys of {sizes.head_dim} channels and values of {sizes.value_dim}"
            raise ConfigError(f"edges_as='vectors' for {shown}: they get the same vectors")
        self.heads = sizes.num_heads
        channels = sizes.num_heads * (sizes.head_dim if role == "vectors" else 1)
        self.features = features(kinds, channels, bias=False)
        self.role = role

    def bias_of(self, source: Tokens) -> Bias | None:
        """See `AttentionPosition.bias_of`.

        Raises:
            InputError: If no graph with features is read.
        """
        graph = graph_of(source.pattern)
        if graph is None or graph.features is None:
            raise InputError("an attention made for the features of edges reads nodes whose edges have none")
        found, kinds = self._read(graph.features, graph.index.shape[1])
        if self.role == "bias":
            return EdgeBias(graph, added=found, kinds=kinds)
        vectors = found.unflatten(1, (self.heads, -1))
        return EdgeBias(graph, to_keys=vectors, to_values=vectors, kinds=kinds)

    def _read(self, given: Shaped[Tensor, "e f"], edges: int) -> tuple[Float[Tensor, "rows c"], EdgeKinds | None]:
        """Give what is said by each edge, or by each kind of edges; those behind the given ones say nothing."""
        if torch.compiler.is_exporting() or not isinstance(self.features, Categories):
            return pad(self.features(given), (0, 0, 0, edges - given.shape[0])), None
        alike = distinct(given, self.features.kinds)
        key = "kinds", self.features.kinds, edges
        kinds: EdgeKinds = cached(given, key, lambda: _kinds(alike, edges - given.shape[0]))
        return pad(self.features.of_rows(alike.rows), (0, 0, 0, kinds.count - alike.rows.shape[0])), kinds


def _kinds(alike: Distinct, more: int) -> EdgeKinds:
    count = alike.rows.shape[0]
    return EdgeKinds(pad(alike.of, (0, more), value=count), count + (more > 0))


def graph_of(pattern: Pattern | None) -> Graph | None:
    """Find the graph in a pattern; None where there is none."""
    if isinstance(pattern, And | Or):
        return graph_of(pattern.left) or graph_of(pattern.right)
    return pattern if isinstance(pattern, Graph) else None


def with_relation(
    attention: Callable[[int, int], nn.Module], kinds: Kinds, role: str = "vectors"
) -> Callable[[int, int], nn.Module]:
    """Let each attention know the features of edges; unchanged where these have none.

    Args:
        attention: makes an attention from (dim, num_heads).
        kinds: features of edges.
        role: as for `Relation`.
    """
    if kinds == 0:
        return attention

    def make(dim: int, num_heads: int) -> nn.Module:
        layer = attention(dim, num_heads)
        if not isinstance(layer, AttentionLayer):
            raise ConfigError(
                f"edge_features={kinds!r} act inside attention, where {type(layer).__name__} has no place for them: "
                "edge_features=0 leaves them out"
            )
        layer.set_position(lambda sizes: Relation(kinds, sizes, role), f"edge_features={kinds!r}")
        return layer

    return make
