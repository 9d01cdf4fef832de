"""`EdgeAttention`: the layer of graph attention networks on the engine, without any graph library.

Axes: s sources, t targets, e edges that are read, a features of an edge, h heads, d channels of a head.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Edges, InputError, Keys, Linear
from zoo.plugins.graph.layers.attention_scores import Channels, EdgeScoreInputs, linear, make_score, pair

ROOTS = ("none", "add", "gate")


class EdgeAttention(nn.Module):
    """Let each target read the sources that an edge joins to it, and join what its heads read.

    Args:
        channels: of nodes, or of sources and of targets; -1 for as many as come first.
        dim: channels of a head.
        heads: heads.
        score: `scaled_dot` (arXiv:2009.03509), `gat` (arXiv:1710.10903) or `gatv2` (arXiv:2105.14491).
        concat: whether heads stand side by side; otherwise their mean is taken.
        dropout: probability that a weight is dropped in training, in [0, 1).
        edge_dim: features of an edge; None for none.
        bias: whether linear layers add a bias.
        root: what a target does with its own vector: `none`, `add` its projection, or `gate` it against what was
            read (arXiv:2009.03509 eq. 5); None for what the score's paper and PyTorch Geometric do: `add` for
            `scaled_dot`, `none` for the others.

    Raises:
        ConfigError: If a value is not one of those there are.
    """

    def __init__(
        self,
        channels: Channels,
        dim: int,
        heads: int = 1,
        *,
        score: str = "scaled_dot",
        concat: bool = True,
        dropout: float = 0.0,
        edge_dim: int | None = None,
        bias: bool = True,
        root: str | None = None,
    ) -> None:
        super().__init__()
        if dim < 1 or heads < 1:
            raise ConfigError(f"heads={heads}, dim={dim}: both must be at least 1")
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout={dropout} is not in [0, 1)")
        self.score = make_score(score, channels, heads, dim, edge_dim, bias)
        root = self.score.root if root is None else root
        if root not in ROOTS:
            raise ConfigError(f"root={root!r} is not one of {', '.join(ROOTS)}")
        self.heads, self.dim, self.concat, self.dropout, self.edge_dim = heads, dim, concat, dropout, edge_dim
        after = self.score.bias_after
        self.skip = None if root == "none" else linear(pair(channels)[1], self.width, bias and not after, glorot=after)
        self.gate = Linear(3 * self.width, 1, bias=False) if root == "gate" else None
        self.bias = nn.Parameter(torch.zeros(self.width)) if bias and after else None

    @property
    def width(self) -> int:
        """Channels out."""
        return self.heads * self.dim if self.concat else self.dim

    def forward(
        self,
        source: Float[Tensor, "s i"],
        target: Float[Tensor, "t i2"] | None,
        edges: Edges,
        attr: Float[Tensor, "e a"] | None = None,
        keys: Keys | None = None,
        targets: int | None = None,
    ) -> Float[Tensor, "t w"]:
        """Give each target what it reads; one that no edge leads to reads 0.

        Args:
            source: vectors that are read.
            target: vectors that read; None where the score does without, and nothing of theirs is added then.
            edges: the graph.
            attr: features of its edges, one row for each.
            keys: which sources are there; None if all are.
            targets: how many targets there are, if they have no vectors.
        """
        return self.join(self.answer(self.score_inputs(source, target, edges, attr, targets), keys), target)

    def score_inputs(
        self,
        source: Float[Tensor, "s i"],
        target: Float[Tensor, "t i2"] | None,
        edges: Edges,
        attr: Float[Tensor, "e a"] | None = None,
        targets: int | None = None,
    ) -> EdgeScoreInputs:
        """Project nodes and edges to the arguments of `attend`; see `forward`.

        Raises:
            InputError: If features of edges are missing, or are others than the layer was made for.
        """
        self.check_features(attr, source.dtype)
        return self.score(source, target, edges, attr, source.shape[0] if targets is None else targets)

    def check_features(self, attr: Tensor | None, dtype: torch.dtype) -> None:
        """Refuse features of edges that the layer was not made for.

        Args:
            attr: features, one row for each edge.
            dtype: of the nodes.

        Raises:
            InputError: If they are missing, or of other channels or another dtype.
        """
        if (attr is None) != (self.edge_dim is None) or (attr is not None and attr.shape[1] != self.edge_dim):
            given = "no edge_attr is given" if attr is None else f"edge_attr is of shape {tuple(attr.shape)}"
            raise InputError(f"a layer made with edge_dim={self.edge_dim}, and {given}")
        if attr is None:
            return
        kind = attr.device.type
        autocast = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
        if not attr.is_floating_point() or (attr.dtype != dtype and not autocast):
            raise InputError(f"edge_attr is {attr.dtype} and x is {dtype}: edge_attr.to({dtype})")

    def answer(self, inputs: EdgeScoreInputs, keys: Keys | None = None) -> Float[Tensor, "t h d"]:
        """Give what the heads of each target read, with dropout in training."""
        return _answer(inputs, keys, self.dropout if self.training else 0.0)

    def join(self, read: Float[Tensor, "t h d"], target: Float[Tensor, "t i2"] | None) -> Float[Tensor, "t w"]:
        """Join the heads, and what was read with the target's own vector, where it has one.

        Raises:
            InputError: If it has none, and what was read is gated against it.
        """
        y = read.flatten(1) if self.concat else read.mean(1)
        if target is None and self.gate is not None:
            raise InputError("targets without vectors, and the layer gates by them: make it with root='none'")
        if self.skip is not None and target is not None:
            own = self.skip(target)
            if self.gate is None:
                y = y + own
            else:
                share = self.gate(torch.cat([y, own, y - own], 1)).sigmoid()
                y = share * own + (1 - share) * y
        return y if self.bias is None else y + self.bias

    def reset_parameters(self) -> None:
        """Draw fresh weights."""
        for layer in self.children():
            layer.reset_parameters()  # type: ignore[operator]
        if self.bias is not None:
            nn.init.zeros_(self.bias)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _answer(inputs: EdgeScoreInputs, keys: Keys | None, dropout: float) -> Float[Tensor, "t h d"]:
    """Call `attend` outside of what is compiled: it would be compiled again for each graph."""
    return inputs.answer(keys, dropout)
