"""The Conformer's block, arXiv:2005.08100 sec. 2, and the encoder made of it."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import (
    Attention,
    Chain,
    DropPath,
    Mlp,
    Pattern,
    Pointwise,
    Residual,
    Stack,
    Tokens,
    drop_rates,
    keeps_sets_apart,
    silu,
    stream_of,
    with_position,
)
from zoo.plugins.conformer.convolution import ConvolutionModule

relative_attention = with_position(Attention, "transformer-xl", length=1)
"""Makes the paper's attention, sec. 2.1, from `(dim, num_heads)`: it reads by content and by true offset."""


class ConformerBlock(nn.Module):
    """Attention, then convolution, between two half steps of feed-forward: arXiv:2005.08100 eq. 1.

    Args:
        dim: channels.
        mlp1: the first half step, `(batch, length, dim)` to the same.
        attention: `Tokens -> (batch, length, dim)`.
        convolution: the same, with its own norm in front.
        mlp2: the second half step.
        dropout: probability in [0, 1), after attention and convolution.
        drop_path: probability in [0, 1) that a row skips a branch in training.
        eps: of the layer norms.
    """

    def __init__(
        self,
        dim: int,
        mlp1: nn.Module,
        attention: nn.Module,
        convolution: nn.Module,
        mlp2: nn.Module,
        *,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=eps)
        self.mlp1 = mlp1
        self.norm2 = nn.LayerNorm(dim, eps=eps)
        self.attention = attention
        self.convolution = convolution
        self.norm3 = nn.LayerNorm(dim, eps=eps)
        self.mlp2 = mlp2
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same set with new vectors."""
        x = tokens.x
        x = torch.add(x, self.drop_path(self.mlp1(self.norm1(x))), alpha=0.5)
        for branch in self.ordered(self._attend, self.convolution):
            x = x + self.drop_path(self.dropout(branch(tokens.with_x(x))))
        x = torch.add(x, self.drop_path(self.mlp2(self.norm3(x))), alpha=0.5)
        return tokens.with_x(self.norm(x))

    def _attend(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        return self.attention(tokens.with_x(self.norm2(tokens.x)))

    def ordered(self, attention: Any, convolution: Any) -> tuple[Any, Any]:
        """Give the two branches between the half steps in the order in which they are applied."""
        return attention, convolution

    def packs(self) -> bool:
        """Tell whether sets that stand side by side stay apart: in the attention and between the convolution's frames.

        Batch norm takes its statistics from the frames that are there, packed or not.
        """
        return (
            isinstance(self.mlp1, Mlp)
            and isinstance(self.mlp2, Mlp)
            and keeps_sets_apart(self.attention)
            and isinstance(self.convolution, ConvolutionModule)
            and getattr(self.convolution.inner_norm, "by_frame", False)
            and not (self.training and self.drop_path.probability)
        )

    def stream(self, pattern: Pattern | None = None) -> Chain:
        """Give the stage that does the same while vectors come.

        Args:
            pattern: what the tokens will say.

        Raises:
            ConfigError: If attention or convolution have to see them all.
        """
        read = Chain([Pointwise(self.norm2), stream_of(self.attention, pattern)])
        return Chain(
            [
                Residual(Chain([Pointwise(self.norm1), stream_of(self.mlp1)]), share=0.5),
                *map(Residual, self.ordered(read, stream_of(self.convolution))),
                Residual(Chain([Pointwise(self.norm3), stream_of(self.mlp2)]), share=0.5),
                Pointwise(self.norm),
            ]
        )


class ConvolutionFirstBlock(ConformerBlock):
    """`ConformerBlock` with its convolution in front of its attention, as torchaudio's `convolution_first` says."""

    def ordered(self, attention: Any, convolution: Any) -> tuple[Any, Any]:
        return convolution, attention


def conformer_encoder(
    dim: int,
    depth: int,
    num_heads: int,
    mlp_dim: int,
    *,
    block: type[ConformerBlock] = ConformerBlock,
    attention: Callable[[int, int], nn.Module] = relative_attention,
    convolution: Callable[[int], nn.Module] = ConvolutionModule,
    dropout: float = 0.0,
    drop_path: float = 0.0,
    eps: float = 1e-5,
) -> Stack:
    """Make the paper's encoder behind its subsampling: a stack of Conformer blocks, each with its own last norm.

    Args:
        dim: channels.
        depth: blocks.
        num_heads: heads of each attention.
        mlp_dim: channels inside each half step.
        block: `ConformerBlock`, the paper's, or `ConvolutionFirstBlock`.
        attention: makes each block's attention from `(dim, num_heads)`.
        convolution: makes each block's convolution module from `dim`.
        dropout: probability in [0, 1), after attention and convolution and inside the half steps.
        drop_path: probability in [0, 1) of the last block; it grows linearly from 0 at the first.
        eps: of the layer norms.
    """

    def make(rate: float) -> ConformerBlock:
        first, last = (Mlp(dim, mlp_dim, dropout, activation=silu) for _ in range(2))
        parts = first, attention(dim, num_heads), convolution(dim), last
        return block(dim, *parts, dropout=dropout, drop_path=rate, eps=eps)

    return Stack(make(rate) for rate in drop_rates(depth, drop_path))
