"""The Conformer as a model: frames, its encoder, and a head; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.heads import head
from zoo.core.layers.init import init_weights
from zoo.core.layers.position_factory import with_position
from zoo.core.models.model import Composition, Model
from zoo.plugins.conformer.block import conformer_encoder
from zoo.plugins.conformer.convolution import ConvolutionModule, causal, same
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm
from zoo.plugins.shared.audio.asr import BYTES, Recognition, recogniser
from zoo.plugins.shared.audio.frame_stem import FrameStem, reach_of, window_of
from zoo.plugins.shared.audio.spec_augment import masks
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


def conformer(
    *,
    bands: int = 80,
    dim: int = 144,
    depth: int = 16,
    num_heads: int = 4,
    mlp_dim: int = 576,
    kernel_size: int = 32,
    num_classes: int = 0,
    task: str = "classify",
    window: int | Sequence[int] | str = "full",
    convolution: str = "same",
    norm: str = "batch",
    attention: Callable[[int, int], nn.Module] = Attention,
    position: str = "transformer-xl",
    normalise: str = "utterance",
    spec_augment: Sequence[int] = (),
    dropout: float = 0.1,
    drop_path: float = 0.0,
    vocab_size: int = BYTES,
    by: str = "ctc",
    ctc_weight: float = 0.3,
    decoder_depth: int | None = None,
) -> Composition:
    """Compose frames, two convolutions to 40 ms, Conformer blocks, and a head: arXiv:2005.08100 sec. 2.

    The paper's decoder, one recurrent layer, is left out.

    Args:
        bands: log-mel features of a frame.
        dim: channels.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each half step of feed-forward.
        kernel_size: vectors that each convolution reads.
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (a label for the sound, from the mean), `tag` (a label for every 40 ms), `features`, or
            `generate` (a transcript).
        window: milliseconds that each vector's attention looks to both sides, or (back, ahead), multiples of 40; or
            `full`. It limits whatever the attention allows.
        convolution: `same` reads to both sides, `causal` back only, in the stem too.
        norm: inside the convolution module, `batch`, `layer` or `group`; none of them sees padding.
        attention: makes an attention from (dim, num_heads); a decoder has its own.
        position: inside attention `transformer-xl`, `rotary`, `relative` (a table), `alibi`, `shaw`; or `sinusoidal`,
            added to the vectors; or `none`.
        normalise: features by the mean and variance of the `utterance`, or `running` along, or `none`.
        spec_augment: in training, masks of bands, the most bands of each, masks of time, the most frames of each;
            none if empty.
        dropout: probability in [0, 1), of the vectors, after attention and convolution and in each half step.
        drop_path: probability in [0, 1) that the last block is skipped in training.
        vocab_size: tokens of transcripts.
        by: how they are recognised: by `ctc`, `attention` or `joint`.
        ctc_weight: share of what vectors emit, by `joint`.
        decoder_depth: blocks of the decoder, by `attention` and `joint`; half of `depth` if None.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    for keyword, value, known in (("convolution", convolution, PADDINGS), ("norm", norm, NORMS)):
        if value not in known:
            raise ConfigError(f"{keyword}={value!r} is not one of {', '.join(known)}")
    pattern = window_of(window)
    stem = FrameStem(
        dim,
        bands=bands,
        normalise=normalise,
        augment=masks(spec_augment),
        subsample=Subsample2d,
        ahead=convolution == "same",
        pattern=pattern,
        position=position,
        dropout=dropout,
    )
    encoder = conformer_encoder(
        dim,
        depth,
        num_heads,
        mlp_dim,
        attention=with_position(attention, position, reach_of(pattern) + 1),
        convolution=partial(
            ConvolutionModule, kernel_size=kernel_size, padding=PADDINGS[convolution](kernel_size), norm=NORMS[norm]
        ),
        dropout=dropout,
        drop_path=drop_path,
    )
    init_weights(encoder)
    if task == "generate":
        recognition = Recognition(vocab_size, by, ctc_weight, decoder_depth)
        sizes = {"dim": dim, "depth": depth, "num_heads": num_heads, "mlp_dim": mlp_dim}
        return recogniser(stem, encoder, recognition, **sizes, dropout=dropout)
    return Conformer(stem, encoder, head(task, dim, num_classes, pool="mean"))
