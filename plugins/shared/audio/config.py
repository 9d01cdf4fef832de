"""Sizes and options that models of sounds share, and attention windows in milliseconds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from zoo.core import Attention, ConfigError, Window, with_position

TOKEN = 40
"""Milliseconds from vector to vector."""
FAR = 1000
"""Offsets to each side that a table knows where everyone reads everyone: 40 s."""
WAVE_TOKEN = 20
"""The same of a stem that reads samples, `stem="wave"`."""
BYTES = 260
"""Tokens of the vocabulary that needs no file: the bytes and four symbols."""


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """Sizes of a stack of blocks, in models of sounds.

    Args:
        dim: channels.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        dropout: probability in [0, 1), of the vectors, after attention and convolution and in each MLP.
    """

    dim: int = 256
    depth: int = 12
    num_heads: int = 4
    mlp_dim: int = 2048
    dropout: float = 0.1


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(StackConfig):
    """Sizes and options of an encoder of sounds with a head.

    Args:
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (a label for the sound, from the mean), `tag` (a label for every vector) or `features`.
        attention: makes an attention from (dim, num_heads); a decoder has its own.
        position: inside attention `rotary`, `transformer-xl`, `relative` (a table), `alibi`, `shaw`; or `sinusoidal`,
            added to the vectors; or `none`.
        normalise: input by the mean and variance of the `utterance`, or `none`.
        drop_path: probability in [0, 1) that the last block is skipped in training.
    """

    num_classes: int = 0
    task: str = "classify"
    attention: Callable[[int, int], nn.Module] = Attention
    position: str = "rotary"
    normalise: str = "utterance"
    drop_path: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RecognitionConfig(EncoderConfig):
    """Options of speech recognition behind an encoder; its `task` may be `generate` (a transcript).

    Args:
        vocab_size: tokens of transcripts; padding, which is the CTC blank too, begin and end are the first three.
        labels: what each CTC output writes, `|` between words, as `get_labels()` of torchaudio's bundles: a vocabulary
            without begin and end, whose number of tokens goes before `vocab_size`; none if empty.
        blank: the label that is the CTC blank.
        by: how they are recognised: by `ctc`, `attention` or `joint`.
        ctc_weight: share of CTC, by `joint`.
        decoder_depth: blocks of the decoder, by `attention` and `joint`; half of `depth` if None.
    """

    vocab_size: int = BYTES
    labels: Sequence[str] = ()
    blank: int = 0
    by: str = "ctc"
    ctc_weight: float = 0.3
    decoder_depth: int | None = None


@dataclass(frozen=True, kw_only=True)
class SoundConfig(RecognitionConfig):
    """Sizes and options of an encoder on a vector for each 40 ms, `FrameStem`; its `normalise` may be `running`.

    Args:
        bands: log-mel features of a frame.
        window: milliseconds that each vector's attention looks to both sides, or (back, ahead), multiples of 40; or
            `full`. It limits whatever the attention allows.
        spec_augment: in training, masks of bands, the most bands of each, masks of time, the most frames of each;
            none if empty.
    """

    bands: int = 80
    window: int | Sequence[int] | str = 640
    spec_augment: Sequence[int] = ()

    @property
    def pattern(self) -> Window | None:
        """Give the window in vectors; None for all."""
        return window_of(self.window)

    def self_attention(self) -> Callable[[int, int], nn.Module]:
        """Give what makes the encoder's attention, with its position."""
        return with_position(self.attention, self.position, reach_of(self.pattern) + 1)


def token_ms(config: Mapping[str, Any]) -> int:
    """Give the milliseconds from vector to vector of a model of this configuration."""
    return WAVE_TOKEN if config.get("stem") == "wave" else TOKEN


def window_of(milliseconds: Any) -> Window | None:
    """Give the window of so many milliseconds; None for `full`, where everyone reads everyone.

    Args:
        milliseconds: to both sides, or (back, ahead), multiples of 40; or `full`.

    Raises:
        ConfigError: If it is none of these.
    """
    if milliseconds == "full":
        return None
    sides = (milliseconds, milliseconds) if isinstance(milliseconds, int) else milliseconds
    if not isinstance(sides, list | tuple) or len(sides) != 2 or not all(type(side) is int for side in sides):
        raise ConfigError(f"window={milliseconds!r} is neither milliseconds, nor (back, ahead), nor 'full'")
    if any(side < 0 or side % TOKEN for side in sides):
        raise ConfigError(f"window={milliseconds!r}: milliseconds are multiples of {TOKEN}, 0 or more")
    return Window(sides[0] // TOKEN, sides[1] // TOKEN)


def reach_of(window: Window | None) -> int:
    """Give the offsets to each side that a table of positions needs to know."""
    return FAR if window is None else max(window.left, window.right)
