"""`TransformerCaptioner`: an encoder of pictures, and a Transformer decoder that reads it."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from zoo.core import (
    EncoderDecoderConfig,
    Generator,
    Learned,
    PreNormBlock,
    configured,
    encoder_decoder_parts,
    init_weights,
    mlp_with,
)
from zoo.plugins.caption.models.stems import PictureConfig


@dataclass(frozen=True, kw_only=True)
class TransformerCaptionerConfig(PictureConfig, EncoderDecoderConfig):
    """Sizes and options of `TransformerCaptioner`; `position` and `max_len` are those of the text.

    Stem `cnn` is a feature map below the encoder, as in arXiv:2106.14881; `patches` make it a vision transformer.
    """

    vocab_size: int = 260
    dim: int = 64
    depth: int = 2
    num_heads: int = 4
    mlp_dim: int = 128
    label_smoothing: float = 0.0


class TransformerCaptioner(Generator):
    """An encoder of a feature map or of patches, and the decoder of arXiv:1706.03762, whose norms stand first.

    Args:
        config: its fields are the keywords, see `TransformerCaptionerConfig`, `PictureConfig`,
            `EncoderDecoderConfig`.

    Raises:
        ConfigError: If there is no such stem, or the picture is not a multiple of the patch.
    """

    @configured(TransformerCaptionerConfig)
    def __init__(self, config: TransformerCaptionerConfig) -> None:
        blocks: dict[str, Any] = {"block": PreNormBlock, "mlp": mlp_with("gelu")}
        parts = encoder_decoder_parts(
            config, config.encoder(**blocks), config.decoder(**blocks), stem=config.make_stem(config.dim)
        )
        super().__init__(**parts)
        self.label_smoothing = config.label_smoothing
        init_weights(self)
        for part in self.modules():
            if isinstance(part, nn.Embedding):
                nn.init.normal_(part.weight, std=config.dim**-0.5)
            elif isinstance(part, Learned):
                nn.init.normal_(part.table, std=0.02)
