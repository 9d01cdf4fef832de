"""Attention scores on graphs: scaled dot product, GAT and GATv2, each with the projections of its paper.

Axes: s sources, t targets, h heads, d channels of a head, e edges, a features of an edge.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, EdgeBias, Edges, InputError, Keys, LeakySum, Linear, Score, attend, edge_weights
from zoo.plugins.graph.structure.edge_rules import SelfLoops

Channels = int | tuple[int, int]
"""Of nodes, or of sources and of targets; -1 for as many as come first."""


class EdgeScoreInputs(NamedTuple):
    """The arguments of `attend` on a graph: queries, keys, values, edges, bias and score."""

    q: Float[Tensor, "t h d2"]
    k: Float[Tensor, "s h d2"]
    v: Float[Tensor, "s h d"]
    edges: Edges
    bias: EdgeBias | None = None
    score: str | Score = "scaled_dot"

    def answer(self, keys: Keys | None = None, dropout: float = 0.0) -> Float[Tensor, "t h d"]:
        """Let each target read its sources."""
        q, k, v, edges, bias, score = self
        return attend(q[None], k[None], v[None], edges, keys, bias, score, dropout).squeeze(0)

    def weights(self, keys: Keys | None = None) -> Float[Tensor, "e h"]:
        """Give the weight of each edge."""
        q, k, _, edges, bias, score = self
        return edge_weights(q[None], k[None], edges, keys, bias, score).squeeze(0)


class _EdgeScore(nn.Module):
    """Base class of the scores on graphs, with what GAT and GATv2 have in common.

    Args:
        heads: heads.
        dim: channels of a head.
    """

    self_loops: SelfLoops = "replace"
    root = "none"
    bias_after = True

    def __init__(self, heads: int, dim: int) -> None:
        super().__init__()
        self.shape = (heads, dim)

    def reset_parameters(self) -> None:
        """Draw fresh weights as PyTorch Geometric does: of layers, and of vectors of heads by Glorot's uniform."""
        for layer in self.children():
            layer.reset_parameters()  # type: ignore[operator]
        for vector in self.parameters(recurse=False):
            nn.init.xavier_uniform_(vector)


class ScaledDot(_EdgeScore):
    """Scaled dot product, arXiv:2009.03509 eq. 3 and 4: products of projections; edges add to keys and values.

    Args:
        channels: of nodes.
        heads: heads.
        dim: channels of a head.
        edge_dim: features of an edge; None for none.
        bias: whether projections add a bias.
    """

    self_loops: SelfLoops = "keep"
    root = "add"
    bias_after = False

    def __init__(self, channels: Channels, heads: int, dim: int, edge_dim: int | None, bias: bool) -> None:
        super().__init__(heads, dim)
        sources, targets = pair(channels)
        self.query = linear(targets, heads * dim, bias)
        self.key = linear(sources, heads * dim, bias)
        self.value = linear(sources, heads * dim, bias)
        self.edge = None if edge_dim is None else Linear(edge_dim, heads * dim, bias=False)

    def forward(
        self,
        source: Float[Tensor, "s i"],
        target: Float[Tensor, "t i2"] | None,
        edges: Edges,
        attr: Float[Tensor, "e a"] | None,
        targets: int,
    ) -> EdgeScoreInputs:
        """Project nodes and edge features."""
        target = present(target)
        q, k, v = (
            layer(x).unflatten(1, self.shape)
            for layer, x in ((self.query, target), (self.key, source), (self.value, source))
        )
        if self.edge is None or attr is None:
            return EdgeScoreInputs(q, k, v, edges)
        vectors = self.edge(attr).unflatten(1, self.shape)
        return EdgeScoreInputs(q, k, v, edges, EdgeBias(edges, to_keys=vectors, to_values=vectors))


class Gat(_EdgeScore):
    """GAT, arXiv:1710.10903 eq. 3: a number of the target and one of the source, behind a LeakyReLU.

    Args:
        channels: of nodes, whose projection sources and targets share, or of sources and of targets, with one each.
        heads: heads.
        dim: channels of a head.
        edge_dim: features of an edge, which give a number too (as in PyTorch Geometric); None for none.
        bias: unused here: the paper adds none before the attention.
        slope: of LeakyReLU below 0.
    """

    def __init__(
        self, channels: Channels, heads: int, dim: int, edge_dim: int | None, bias: bool, slope: float = 0.2
    ) -> None:
        super().__init__(heads, dim)
        sources, targets = pair(channels)
        self.slope = slope
        self.value = linear(sources, heads * dim, False, glorot=True)
        self.target = None if isinstance(channels, int) else linear(targets, heads * dim, False, glorot=True)
        self.of_source = nn.Parameter(torch.empty(heads, dim))
        self.of_target = nn.Parameter(torch.empty(heads, dim))
        self.edge = None if edge_dim is None else linear(edge_dim, heads * dim, False, glorot=True)
        self.of_edge = None if edge_dim is None else nn.Parameter(torch.empty(heads, dim))
        self.reset_parameters()

    def forward(
        self,
        source: Float[Tensor, "s i"],
        target: Float[Tensor, "t i2"] | None,
        edges: Edges,
        attr: Float[Tensor, "e a"] | None,
        targets: int,
    ) -> EdgeScoreInputs:
        """Project nodes and edge features; targets without vectors have the number 0."""
        v = self.value(source).unflatten(1, self.shape)
        if target is source and self.target is None:
            k, q = _numbers(v, self.of_source, self.of_target)
        else:
            (k,), q = _numbers(v, self.of_source), v.new_zeros(targets, len(self.of_target), 1)
            if target is not None:
                layer = self.value if self.target is None else self.target
                (q,) = _numbers(layer(target).unflatten(1, self.shape), self.of_target)
        bias = None
        if self.edge is not None and self.of_edge is not None and attr is not None:
            matrix = (self.edge.weight.unflatten(0, self.shape) * self.of_edge[..., None]).sum(1)  # (heads, features)
            bias = EdgeBias(edges, to_keys=(attr @ matrix.T.to(attr.dtype))[..., None])
        return EdgeScoreInputs(q, k, v, edges, bias, LeakySum(None, self.slope))


def _numbers(x: Float[Tensor, "n h d"], *vectors: Float[Tensor, "h d"]) -> tuple[Float[Tensor, "n h 1"], ...]:
    """Multiply the vector of each head by vectors of that head, as one product with a matrix of mostly zeros."""
    matrix = torch.cat([vector.T.diag_embed().transpose(0, 1).flatten(0, 1) for vector in vectors], dim=1)
    numbers = (x.flatten(1) @ matrix).to(x.dtype)  # autocast multiplies in its precision
    return numbers.unsqueeze(-1).split([len(vector) for vector in vectors], dim=1)


class GatV2(_EdgeScore):
    """GATv2, arXiv:2105.14491 eq. 7: a vector times the LeakyReLU of the sum of both projections.

    Args:
        channels: of nodes.
        heads: heads.
        dim: channels of a head.
        edge_dim: features of an edge, whose projection is added inside (as in PyTorch Geometric); None for none.
        bias: whether projections of nodes add a bias.
        slope: of LeakyReLU below 0.
    """

    def __init__(
        self, channels: Channels, heads: int, dim: int, edge_dim: int | None, bias: bool, slope: float = 0.2
    ) -> None:
        super().__init__(heads, dim)
        sources, targets = pair(channels)
        self.slope = slope
        self.source = linear(sources, heads * dim, bias, glorot=True)
        self.target = linear(targets, heads * dim, bias, glorot=True)
        self.edge = None if edge_dim is None else linear(edge_dim, heads * dim, False, glorot=True)
        self.vector = nn.Parameter(torch.empty(heads, dim))
        self.reset_parameters()

    def forward(
        self,
        source: Float[Tensor, "s i"],
        target: Float[Tensor, "t i2"] | None,
        edges: Edges,
        attr: Float[Tensor, "e a"] | None,
        targets: int,
    ) -> EdgeScoreInputs:
        """Project nodes and edge features."""
        target = present(target)
        k, q = self.source(source).unflatten(1, self.shape), self.target(target).unflatten(1, self.shape)
        bias = None
        if self.edge is not None and attr is not None:
            bias = EdgeBias(edges, to_keys=self.edge(attr).unflatten(1, self.shape))
        return EdgeScoreInputs(q, k, k, edges, bias, LeakySum(self.vector, self.slope))


SCORES = {"scaled_dot": ScaledDot, "gat": Gat, "gatv2": GatV2}
"""Names of `score=`."""


def make_score(
    score: str, channels: Channels, heads: int, dim: int, edge_dim: int | None, bias: bool
) -> ScaledDot | Gat | GatV2:
    """Make the score of a name.

    Raises:
        ConfigError: If there is none of that name.
    """
    if score not in SCORES:
        raise ConfigError(f"score={score!r} is not one of {', '.join(SCORES)}")
    return SCORES[score](channels, heads, dim, edge_dim, bias)


def present(target: Tensor | None) -> Tensor:
    """Give the vectors of targets.

    Raises:
        InputError: If there are none.
    """
    if target is None:
        raise InputError("targets without vectors: only score='gat' scores sources alone")
    return target


def pair(channels: Channels) -> tuple[int, int]:
    """Give the channels of sources and of targets."""
    return (channels, channels) if isinstance(channels, int) else (channels[0], channels[1])


class GlorotLinear(Linear):
    """A linear layer whose weights are drawn by Glorot's uniform, and whose bias is 0."""

    def reset_parameters(self) -> None:
        """Draw fresh weights."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class LazyLinear(nn.LazyLinear):
    """A linear layer that takes its channels in from what comes first."""

    cls_to_become = Linear


class LazyGlorotLinear(nn.LazyLinear):
    """A `GlorotLinear` that takes its channels in from what comes first."""

    cls_to_become = GlorotLinear

    def reset_parameters(self) -> None:
        """Draw fresh weights, as soon as there are some."""
        if self.in_features:
            GlorotLinear.reset_parameters(self)  # type: ignore[arg-type]


def linear(channels: int, dim: int, bias: bool, *, glorot: bool = False) -> nn.Linear:
    """Make a linear layer.

    Args:
        channels: in; -1 for as many as come first.
        dim: channels out.
        bias: whether something is added.
        glorot: how weights are drawn: by Glorot's uniform, or as torch does.
    """
    if channels == -1:
        return (LazyGlorotLinear if glorot else LazyLinear)(dim, bias=bias)
    return (GlorotLinear if glorot else Linear)(channels, dim, bias=bias)
