"""The Weighted Transformer."""

from typing import Any

from zoo.core import (
    Attention,
    BranchedBlock,
    EncoderDecoderConfig,
    Generator,
    MakeAttention,
    branched,
    configured,
    encoder_decoder_parts,
    no_mlp,
)
from zoo.plugins.text.models.initialization import init_text


class WeightedTransformer(Generator):
    """A transformer whose heads pass through feed-forward networks of their own before they join: arXiv:1711.02132.

    In each block of the encoder the attention is branched, in each of the decoder that which reads the encoder; see
    `zoo.core.mechanisms.branched`. The networks' width is read as d_ff / M for M heads, which leaves the number of
    parameters as it was, as the paper says of its layer.

    Args:
        config: its fields are the keywords, see `EncoderDecoderConfig`; `num_heads` are the branches, `mlp_dim` the
            channels inside of all networks of a block together, and the attention must have heads.

    Raises:
        ConfigError: If the attention has no heads.
    """

    @configured(EncoderDecoderConfig)
    def __init__(self, config: EncoderDecoderConfig) -> None:
        own = config.self_attention()
        blocks: dict[str, Any] = {"block": BranchedBlock, "mlp": no_mlp}
        decoder = config.decoder(own, _branched(Attention, config.mlp_dim, config.dropout), **blocks)
        encoder = config.encoder(_branched(own, config.mlp_dim, config.dropout), **blocks)
        super().__init__(**encoder_decoder_parts(config, encoder, decoder))
        self.label_smoothing = config.label_smoothing
        init_text(self, config.dim**-0.5)


def _branched(attention: MakeAttention, mlp_dim: int, dropout: float) -> MakeAttention:
    return lambda dim, num_heads: branched(attention(dim, num_heads), mlp_dim, dropout)
