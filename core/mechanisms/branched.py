"""Branched attention, the layer of the Weighted Transformer (arXiv:1711.02132 sec. 3).

Axes: b rows, n positions, h heads (the paper's branches, M), i channels of all heads together, d channels.
"""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.cache.decoder import LayerState
from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.blocks import Block
from zoo.core.layers.mlp import Mlp
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.ops.activations import relu
from zoo.core.ops.linear import Linear
from zoo.core.ops.products import multiply
from zoo.core.tokens import Tokens


class Simplex(nn.Module):
    """Learn positive numbers that sum to 1, at first all equal, as the softmax of free ones.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(count))

    def forward(self) -> Float[Tensor, " h"]:
        """Give the numbers."""
        return self.logits.softmax(0)


class Branches(Linear):
    """Project every head by its own, and combine them: the sum of alpha_i FFN_i(kappa_i head_i W_i).

    With all weights 1 and no networks it is the linear layer from which it inherits.

    Args:
        inner: channels of all heads together.
        dim: channels out.
        branches: the feed-forward network of each head.
        kappa: gives the weights before the networks.
        alpha: gives the weights after them.

    Raises:
        ConfigError: If the channels do not divide evenly among the branches.
    """

    def __init__(self, inner: int, dim: int, branches: Iterable[nn.Module], kappa: nn.Module, alpha: nn.Module) -> None:
        super().__init__(inner, dim, bias=False)
        self.branches = nn.ModuleList(branches)
        if not len(self.branches) or inner % len(self.branches):
            raise ConfigError(f"inner={inner} is not a multiple of {len(self.branches)} branches")
        self.kappa = kappa
        self.alpha = alpha

    def forward(self, x: Float[Tensor, "*b n i"]) -> Float[Tensor, "*b n d"]:
        """Combine the heads, given side by side."""
        count = len(self.branches)
        kappa, alpha = (weights().to(x.dtype).unbind() for weights in (self.kappa, self.alpha))
        parts = zip(x.chunk(count, -1), self.weight.chunk(count, 1), kappa, self.branches, alpha, strict=True)
        return torch.stack([a * branch(multiply(head, w * k, None)) for head, w, k, branch, a in parts]).sum(0)


class BranchedAttention(Attention):
    """Multi-head attention whose heads pass through networks of their own before they join.

    arXiv:1711.02132 sec. 3. Kappa and alpha are positive and sum to 1 each; a softmax keeps them so. The width of FFN_i
    is read as d_ff / M: the layer then has the weights of the attention and the feed-forward network that it replaces,
    and besides them 2 M weights for its branches and M - 1 more biases of the FFN. The heads' projection has no bias.

    Args:
        dim: channels in and out.
        num_heads: heads, which are the branches (M).
        branches: the network of each head; `feed_forwards` makes those of the paper.
        kappa: gives the weights of the heads; a `Simplex` if None.
        alpha: gives the weights of the networks' answers; a `Simplex` if None.
        options: as for `Attention`.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        branches: Iterable[nn.Module],
        *,
        kappa: nn.Module | None = None,
        alpha: nn.Module | None = None,
        **options: Any,
    ) -> None:
        super().__init__(dim, num_heads, **options)
        branches = list(branches)
        if len(branches) != num_heads:
            raise ConfigError(f"{len(branches)} branches for num_heads={num_heads}: one for each head")
        inner = self.out.in_features
        self.out = Branches(inner, dim, branches, kappa or Simplex(num_heads), alpha or Simplex(num_heads))


def feed_forwards(dim: int, num_heads: int, mlp_dim: int, dropout: float = 0.0) -> list[Mlp]:
    """Share one feed-forward network of width `mlp_dim` among the heads; see `BranchedAttention`.

    Args:
        dim: channels in and out.
        num_heads: heads.
        mlp_dim: channels inside of all networks together (d_ff).
        dropout: probability in [0, 1), after each layer.

    Raises:
        ConfigError: If `mlp_dim` is not a multiple of `num_heads`.
    """
    if mlp_dim % num_heads:
        raise ConfigError(f"mlp_dim={mlp_dim} is not a multiple of num_heads={num_heads}")
    return [Mlp(dim, mlp_dim // num_heads, dropout, relu) for _ in range(num_heads)]


def branched(layer: Any, mlp_dim: int, dropout: float = 0.0) -> nn.Module:
    """Put the branches of `BranchedAttention` behind any attention with heads, in place of its projection out.

    Args:
        layer: the attention; it is changed.
        mlp_dim: channels inside of all networks together (d_ff).
        dropout: probability in [0, 1), after each layer of the networks.

    Raises:
        ConfigError: If the layer has no linear projection of its heads, `out`.
    """
    out = getattr(layer, "out", None)
    if not isinstance(layer, AttentionLayer) or not isinstance(out, nn.Linear):
        raise ConfigError(
            f"{type(layer).__name__} has no heads that could pass through branches: it has no linear `out`"
        )
    heads, dim = layer.num_heads, out.out_features
    networks = feed_forwards(dim, heads, mlp_dim, dropout)
    module: Any = layer
    module.out = Branches(out.in_features, dim, networks, Simplex(heads), Simplex(heads))
    return module


class BranchedBlock(Block):
    """norm(x + attention(x)), and in a decoder norm(x + cross(x)): arXiv:1711.02132 sec. 3.

    The branches hold the feed-forward network, so there is no MLP behind them. In a decoder `cross` is the branched
    one, which leaves the tokens' own attention as it is: one branched attention for each layer, and 2 M weights of
    branches in each, which are the 192 that the paper counts for six layers of each kind.

    Args:
        dim: channels.
        attention: the attention, `Tokens -> (batch, length, dim)`; branched where there is no `cross`.
        mlp: must do nothing, as `nn.Identity`.
        cross: the branched attention to an encoder's vectors; None in an encoder.
        dropout: probability in [0, 1), after each attention.
        drop_path: probability in [0, 1) that a row skips a branch in training.
        eps: of the layer norms.

    Raises:
        ConfigError: If the MLP has parameters.
    """

    def __init__(
        self,
        dim: int,
        attention: nn.Module,
        mlp: nn.Module | None = None,
        cross: nn.Module | None = None,
        *,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-6,
    ) -> None:
        if mlp is not None and next(mlp.parameters(), None) is not None:
            raise ConfigError(f"{type(mlp).__name__} in a branched block: its branches are its MLP, give nn.Identity()")
        super().__init__(dim, attention, nn.Identity(), cross, dropout=dropout, drop_path=drop_path, eps=eps)
        del self.norm2, self.mlp

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: LayerState | None = None) -> Tokens:
        x = self.norm1(tokens.x + self.attend(tokens, state))
        if self.cross is not None:
            x = self.cross_norm(x + self.attend_context(self.cross, tokens.with_x(x), context, state))
        return tokens.with_x(x)


def no_mlp(dim: int, mlp_dim: int, dropout: float) -> nn.Module:
    """Make the MLP of a block that has none, for `Encoder` and `Decoder`."""
    return nn.Identity()
