"""The Conformer as a model: frames, its encoder, and a head; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from torch import nn

from zoo.core import Composition, ConfigError, Model, configured, head, init_weights
from zoo.plugins.conformer.block import ConformerBlock, ConvolutionFirstBlock, conformer_encoder
from zoo.plugins.conformer.convolution import ConvolutionModule, causal, same
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm
from zoo.plugins.shared.audio.asr import recogniser
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.frame_stem import FrameStem
from zoo.plugins.shared.audio.streaming import Streams
from zoo.plugins.shared.audio.subsample import Subsample2d

PADDINGS = {"same": same, "causal": causal}
"""Where a convolution stands: with a frame in its middle, or behind all it reads."""
NORMS: dict[str, Callable[[int], nn.Module]] = {
    "batch": FrameBatchNorm,
    "layer": FrameLayerNorm,
    "group": FrameGroupNorm,
}
"""Inside the convolution module."""


class Conformer(Streams, Model):
    """A Conformer with a head for labels, or for none; `conformer` makes it."""


@dataclass(frozen=True, kw_only=True)
class ConformerConfig(SoundConfig):
    """Sizes and options of `conformer`; `mlp_dim` are the channels inside each half step of feed-forward.

    Args:
        kernel_size: vectors that each convolution reads.
        convolution: `same` reads to both sides, `causal` back only, in the stem too.
        norm: inside the convolution module, `batch`, `layer` or `group`; none of them sees padding.
        convolution_first: whether a block's convolution stands in front of its attention, as in some of torchaudio's.
    """

    dim: int = 144
    depth: int = 16
    mlp_dim: int = 576
    kernel_size: int = 32
    window: int | Sequence[int] | str = "full"
    convolution: str = "same"
    norm: str = "batch"
    convolution_first: bool = False
    position: str = "transformer-xl"


@configured(ConformerConfig)
def conformer(config: ConformerConfig) -> Composition:
    """Compose frames, two convolutions to 40 ms, Conformer blocks, and a head: arXiv:2005.08100 sec. 2.

    The paper's decoder, one recurrent layer, is left out.

    Args:
        config: its fields are the keywords, see `SoundConfig` and `ConformerConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    for keyword, known in (("convolution", PADDINGS), ("norm", NORMS)):
        if (value := getattr(config, keyword)) not in known:
            raise ConfigError(f"{keyword}={value!r} is not one of {', '.join(known)}")
    stem = FrameStem(config, ahead=config.convolution == "same", subsample=Subsample2d)
    size = config.kernel_size
    padding, norm = PADDINGS[config.convolution](size), NORMS[config.norm]
    encoder = conformer_encoder(
        config.dim,
        config.depth,
        config.num_heads,
        config.mlp_dim,
        block=ConvolutionFirstBlock if config.convolution_first else ConformerBlock,
        attention=config.self_attention(),
        convolution=partial(ConvolutionModule, kernel_size=size, padding=padding, norm=norm),
        dropout=config.dropout,
        drop_path=config.drop_path,
    )
    init_weights(encoder)
    if config.task == "generate":
        return recogniser(stem, encoder, config)
    return Conformer(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
