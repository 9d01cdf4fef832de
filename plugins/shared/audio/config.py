"""`SoundConfig`: sizes and options that all encoders of sound with a `FrameStem` share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from zoo.core import Attention, Window, with_position
from zoo.plugins.shared.audio.frame_stem import FrameStem, reach_of, window_of
from zoo.plugins.shared.audio.spec_augment import masks
from zoo.plugins.shared.audio.subsample import Subsample

BYTES = 260
"""Tokens of the vocabulary that needs no file: the bytes and four symbols."""


@dataclass(frozen=True, kw_only=True)
class SoundConfig:
    """Sizes and options of a model of sounds.

    Args:
        bands: log-mel features of a frame.
        dim: channels.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (a label for the sound, from the mean), `tag` (a label for every 40 ms), `features`, or
            `generate` (a transcript).
        window: milliseconds that each vector's attention looks to both sides, or (back, ahead), multiples of 40; or
            `full`. It limits whatever the attention allows.
        attention: makes an attention from (dim, num_heads); a decoder has its own.
        position: inside attention `rotary`, `transformer-xl`, `relative` (a table), `alibi`, `shaw`; or `sinusoidal`,
            added to the vectors; or `none`.
        normalise: features by the mean and variance of the `utterance`, or `running` along, or `none`.
        spec_augment: in training, masks of bands, the most bands of each, masks of time, the most frames of each;
            none if empty.
        dropout: probability in [0, 1), of the vectors, after attention and convolution and in each MLP.
        drop_path: probability in [0, 1) that the last block is skipped in training.
        vocab_size: tokens of transcripts; padding, which is the CTC blank too, begin and end are the first three.
        by: how they are recognised: by `ctc`, `attention` or `joint`.
        ctc_weight: share of CTC, by `joint`.
        decoder_depth: blocks of the decoder, by `attention` and `joint`; half of `depth` if None.
    """

    bands: int = 80
    dim: int = 256
    depth: int = 12
    num_heads: int = 4
    mlp_dim: int = 2048
    num_classes: int = 0
    task: str = "classify"
    window: int | Sequence[int] | str = 640
    attention: Callable[[int, int], nn.Module] = Attention
    position: str = "rotary"
    normalise: str = "utterance"
    spec_augment: Sequence[int] = ()
    dropout: float = 0.1
    drop_path: float = 0.0
    vocab_size: int = BYTES
    by: str = "ctc"
    ctc_weight: float = 0.3
    decoder_depth: int | None = None

    @property
    def pattern(self) -> Window | None:
        """Give the window in vectors; None for all."""
        return window_of(self.window)

    def self_attention(self) -> Callable[[int, int], nn.Module]:
        """Give what makes the encoder's attention, with its position."""
        return with_position(self.attention, self.position, reach_of(self.pattern) + 1)

    def stem(self, ahead: bool, subsample: Callable[..., nn.Module] = Subsample) -> FrameStem:
        """Make the stem.

        Args:
            ahead: whether its convolutions look ahead.
            subsample: makes the convolutions to 40 ms.
        """
        return FrameStem(
            self.dim,
            bands=self.bands,
            normalise=self.normalise,
            augment=masks(self.spec_augment),
            subsample=subsample,
            ahead=ahead,
            pattern=self.pattern,
            position=self.position,
            dropout=self.dropout,
        )
