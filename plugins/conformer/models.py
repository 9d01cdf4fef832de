"""The Conformer as a model: frames, its encoder, and a head; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from zoo.core import Composition, ConfigError, Model, configured, head, init_weights, position_encoding
from zoo.plugins.conformer.block import ConformerBlock, ConvolutionFirstBlock, conformer_encoder
from zoo.plugins.conformer.convolution import ConvolutionModule, causal, same
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm
from zoo.plugins.conformer.rotary_input import with_rotary_input
from zoo.plugins.conformer.vector_stem import VectorStem
from zoo.plugins.shared.audio.asr import recogniser
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.shared.audio.stems.subsample import Subsample2d
from zoo.plugins.shared.audio.stems.wave_stem import WaveStem
from zoo.plugins.shared.audio.streaming import Streams

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
        position: also `rotary-input`, before the projections, see `RotaryInputAttention`.
        stem: `mel` makes a vector of each 40 ms of log-mel frames, `wave` of each 20 ms of samples as wav2vec 2.0,
            `vectors` takes vectors (batch, length, dim) as they are.
        conv_dim: channels of the frames of `wave`.
        conv_norm: of `wave`: `group` norms each channel of the first convolution over time, `layer` each frame.
        last_norm: whether a layer norm follows the last block.
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
    stem: str = "mel"
    conv_dim: int = 512
    conv_norm: str = "group"
    last_norm: bool = False

    def self_attention(self) -> Callable[[int, int], nn.Module]:
        """Give what makes the encoder's attention, with its position."""
        if self.position == "rotary-input":
            return with_rotary_input(self.attention)
        return super().self_attention()


def mel_stem(config: ConformerConfig) -> nn.Module:
    """Make log-mel frames and two convolutions to 40 ms."""
    position = "none" if config.position == "rotary-input" else config.position
    made = replace(config, position=position)
    return FrameStem(made, ahead=config.convolution == "same", subsample=Subsample2d)


def wave_stem(config: ConformerConfig) -> nn.Module:
    """Make the convolutions of samples of wav2vec 2.0, to 20 ms.

    Raises:
        ConfigError: If an option is of log-mel frames.
    """
    _check_full(config)
    if config.normalise not in ("utterance", "none"):
        raise ConfigError(f"normalise={config.normalise!r} with stem='wave' is not one of utterance, none")
    return WaveStem(
        config.dim,
        config.conv_dim,
        layer_norms=config.conv_norm == "layer",
        normalised=config.normalise == "utterance",
        position=None,
        norm=None,
        dropout=config.dropout,
    )


def vector_stem(config: ConformerConfig) -> nn.Module:
    """Make what takes vectors.

    Raises:
        ConfigError: If an option is of log-mel frames.
    """
    _check_full(config)
    return VectorStem(config.dim)


def _check_full(config: ConformerConfig) -> None:
    if config.position != "rotary-input" and position_encoding(config.position, config.dim, (1,)) is not None:
        raise ConfigError(f"position={config.position!r} with stem={config.stem!r}: it is added to log-mel vectors")
    if config.window != "full" or config.spec_augment:
        raise ConfigError(
            f"window={config.window!r}, spec_augment={config.spec_augment!r} with stem={config.stem!r}: they count "
            "log-mel frames; attention='window:16' limits attention to 16 vectors"
        )


STEMS: dict[str, Callable[[ConformerConfig], nn.Module]] = {
    "mel": mel_stem,
    "wave": wave_stem,
    "vectors": vector_stem,
}
"""What makes vectors of the input."""
KNOWN = {
    "convolution": tuple(PADDINGS),
    "norm": tuple(NORMS),
    "stem": tuple(STEMS),
    "conv_norm": ("group", "layer"),
}
"""Values of options."""


@configured(ConformerConfig)
def conformer(config: ConformerConfig) -> Composition:
    """Compose a stem, by default frames and two convolutions to 40 ms, Conformer blocks, and a head.

    It is arXiv:2005.08100 sec. 2, and with `stem="wave"` the Wav2Vec2Conformer of Hugging Face.

    The paper's decoder, one recurrent layer, is left out.

    Args:
        config: its fields are the keywords, see `SoundConfig` and `ConformerConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    for keyword, known in KNOWN.items():
        if (value := getattr(config, keyword)) not in known:
            raise ConfigError(f"{keyword}={value!r} is not one of {', '.join(known)}")
    stem = STEMS[config.stem](config)
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
    if config.last_norm:
        encoder.norm = nn.LayerNorm(config.dim, eps=1e-5)
    init_weights(encoder)
    if config.task == "generate":
        return recogniser(stem, encoder, config)
    return Conformer(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
