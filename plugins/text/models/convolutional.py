"""Convolutional encoders of text, and one with attention behind convolutions; sizes are in `plugin.py`.

Axes: b texts, n tokens, d channels, m feature maps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import glu, pad

from zoo.core import (
    Attention,
    ConfigError,
    Encoder,
    MakeAttention,
    Model,
    Stack,
    TokenEmbed,
    Tokens,
    configured,
    head,
    relu,
    with_position,
)
from zoo.plugins.text.models.initialization import init_text


@dataclass(frozen=True, kw_only=True)
class TextCnnConfig:
    """Sizes and options of `TextCnn`.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token.
        widths: tokens that each convolution reads.
        feature_maps: of each convolution.
        num_classes: labels of `classify`, `multi-label` and `tag`; 0 for features.
        task: `classify`, `multi-label` (both from the maximum over the text), `tag` or `features`.
        dropout: probability in [0, 1), of the feature maps.
    """

    vocab_size: int = 260
    dim: int = 64
    widths: Sequence[int] = (3, 4, 5)
    feature_maps: int = 64
    num_classes: int = 0
    task: str = "classify"
    dropout: float = 0.5


class ParallelConvolutions(nn.Module):
    """Convolutions of several widths side by side, each with ReLU, and dropout: arXiv:1408.5882 sec. 2.

    Around a text stand zeros, and a text has as many vectors as tokens.

    Args:
        dim: channels.
        widths: tokens that each convolution reads.
        feature_maps: of each convolution.
        dropout: probability in [0, 1).
    """

    def __init__(self, dim: int, widths: Sequence[int], feature_maps: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, feature_maps, width) for width in widths)
        self.around = [((width - 1) // 2, width // 2) for width in widths]
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same text with the feature maps of all widths in each place."""
        x = tokens.without_padding().x.mT
        maps = [relu(conv(pad(x, around))) for conv, around in zip(self.convolutions, self.around, strict=True)]
        return tokens.with_x(self.dropout(torch.cat(maps, 1).mT))


class TextCnn(Model):
    """One layer of convolutions of several widths, and the maximum over the text: arXiv:1408.5882, CNN-rand.

    The paper's weights are also held to a norm of 3, and its embeddings may come from word2vec; both are left out.

    Args:
        config: its fields are the keywords, see `TextCnnConfig`.

    Raises:
        ConfigError: If there is no width, or one of no tokens.
    """

    @configured(TextCnnConfig)
    def __init__(self, config: TextCnnConfig) -> None:
        if min(config.widths, default=0) < 1:
            raise ConfigError(f"widths={list(config.widths)}: at least one, of at least one token")
        stem = TokenEmbed(config.vocab_size, config.dim, position="none")
        layer = ParallelConvolutions(config.dim, config.widths, config.feature_maps, config.dropout)
        dim = len(config.widths) * config.feature_maps
        super().__init__(stem, Stack([layer]), head(config.task, dim, config.num_classes, pool="max"))
        nn.init.uniform_(stem.embed.weight, -0.25, 0.25)  # as the paper's code draws words that it does not know


class GatedBlock(nn.Module):
    """A convolution with a gated linear unit and a residual: (x + glu(conv(x))) sqrt(1/2), arXiv:1705.03122 sec. 3.2.

    Args:
        dim: channels.
        kernel_size: tokens that are read, around each; odd.
        dropout: probability in [0, 1), of what is read.
        dilation: tokens from one that is read to the next.

    Raises:
        ConfigError: If the kernel has no middle.
    """

    def __init__(self, dim: int, kernel_size: int = 3, dropout: float = 0.0, dilation: int = 1) -> None:
        super().__init__()
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ConfigError(f"kernel_size={kernel_size} is not odd: an encoder's kernel stands around a token")
        around = dilation * (kernel_size // 2)
        self.conv = nn.Conv1d(dim, 2 * dim, kernel_size, padding=around, dilation=dilation)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same text with new vectors."""
        x = self.dropout(tokens.without_padding().x)
        return tokens.with_x((tokens.x + glu(self.conv(x.mT), 1).mT) * math.sqrt(0.5))


@dataclass(frozen=True, kw_only=True)
class GatedCnnConfig:
    """Sizes and options of `GatedCnn`.

    Args:
        vocab_size: tokens there are.
        dim: channels.
        depth: gated convolutions.
        kernel_size: tokens that each reads, odd.
        num_classes: labels of `classify`, `multi-label` and `tag`; 0 for features.
        task: `classify`, `multi-label`, `tag` or `features`.
        position: `learned`, `sinusoidal` or `none`, added to the tokens.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1), of the embedding and of what each convolution reads.
    """

    vocab_size: int = 260
    dim: int = 64
    depth: int = 4
    kernel_size: int = 3
    num_classes: int = 0
    task: str = "classify"
    position: str = "learned"
    max_len: int = 512
    dropout: float = 0.1


class GatedCnn(Model):
    """The encoder of the convolutional sequence-to-sequence model, with a head: arXiv:1705.03122 sec. 3.

    It classifies from the maximum over the text.

    Args:
        config: its fields are the keywords, see `GatedCnnConfig`.
    """

    @configured(GatedCnnConfig)
    def __init__(self, config: GatedCnnConfig) -> None:
        if config.depth < 1:
            raise ConfigError(f"depth={config.depth}: a stack has at least one block")
        blocks = [GatedBlock(config.dim, config.kernel_size, config.dropout) for _ in range(config.depth)]
        super().__init__(
            embedding(config), Stack(blocks), head(config.task, config.dim, config.num_classes, pool="max")
        )
        init_text(self, 0.1)  # sec. 3.5


@dataclass(frozen=True, kw_only=True)
class TextHybridConfig(GatedCnnConfig):
    """Sizes and options of `TextHybrid`; `depth` are the blocks of attention.

    Args:
        convolutions: gated convolutions in front of them.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        attention: makes an attention from (dim, num_heads).
        position: also what acts inside attention, such as `rotary`.
    """

    depth: int = 2
    convolutions: int = 2
    num_heads: int = 4
    mlp_dim: int = 128
    attention: MakeAttention = Attention


class TextHybrid(Model):
    """Gated convolutions (arXiv:1705.03122), then a pre-norm encoder with attention (arXiv:1706.03762), and a head.

    It classifies from the first token, as BERT does.

    Args:
        config: its fields are the keywords, see `TextHybridConfig`.
    """

    @configured(TextHybridConfig)
    def __init__(self, config: TextHybridConfig) -> None:
        rates: dict[str, Any] = {"dropout": config.dropout}
        make = with_position(config.attention, config.position, config.max_len)
        encoder = Encoder(config.dim, config.depth, config.num_heads, config.mlp_dim, attention=make, **rates)
        convolutions = [GatedBlock(config.dim, config.kernel_size, **rates) for _ in range(config.convolutions)]
        stack = Stack([*convolutions, *encoder.blocks], encoder.norm)
        super().__init__(embedding(config), stack, head(config.task, config.dim, config.num_classes))
        init_text(self, config.dim**-0.5)


def embedding(config: GatedCnnConfig) -> TokenEmbed:
    """Make the embedding of tokens and positions."""
    return TokenEmbed(
        config.vocab_size, config.dim, position=config.position, max_len=config.max_len, dropout=config.dropout
    )
