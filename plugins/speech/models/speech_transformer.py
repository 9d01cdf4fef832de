"""The speech encoder: a Transformer on vectors of 40 ms, each of which looks only so far; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence

from torch import nn

from zoo.core.layers.attention import Attention
from zoo.core.layers.heads import head
from zoo.core.layers.init import init_weights
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.transformer import Encoder
from zoo.core.models.model import Composition, Model
from zoo.plugins.shared.audio.asr import BYTES, Recognition, recogniser
from zoo.plugins.shared.audio.frame_stem import FrameStem, reach_of, window_of
from zoo.plugins.shared.audio.spec_augment import masks
from zoo.plugins.shared.audio.streaming import Streams


class SpeechTransformer(Streams, Model):
    """A speech encoder with a head for labels, or for none; `speech_transformer` makes it."""


def speech_transformer(
    *,
    bands: int = 80,
    dim: int = 256,
    depth: int = 12,
    num_heads: int = 4,
    mlp_dim: int = 2048,
    num_classes: int = 0,
    task: str = "classify",
    window: int | Sequence[int] | str = 640,
    attention: Callable[[int, int], nn.Module] = Attention,
    position: str = "rotary",
    normalise: str = "utterance",
    spec_augment: Sequence[int] = (),
    dropout: float = 0.1,
    drop_path: float = 0.0,
    eps: float = 1e-5,
    vocab_size: int = BYTES,
    by: str = "ctc",
    ctc_weight: float = 0.3,
    decoder_depth: int | None = None,
) -> Composition:
    """Compose frames, a pre-norm encoder whose attention is truncated, and a head: arXiv:1910.12977.

    There the encoder is trained as a transducer; a head of the zoo stands here, or what recognises. Cost and memory
    grow with the duration.

    Args:
        bands: log-mel features of a frame.
        dim: channels.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (a label for the sound, from the mean), `tag` (a label for every 40 ms), `features`, or
            `generate` (a transcript).
        window: milliseconds that each vector looks to both sides, or (back, ahead), multiples of 40; or `full`. It
            limits whatever the attention allows. Looking 0 ahead, the convolutions of the stem look back only, too.
        attention: makes an attention from (dim, num_heads); a decoder has its own.
        position: inside attention `rotary`, `transformer-xl`, `relative` (a table), `alibi`, `shaw`; or `sinusoidal`,
            added to the vectors; or `none`.
        normalise: features by the mean and variance of the `utterance`, or `running` along, or `none`.
        spec_augment: in training, masks of bands, the most bands of each, masks of time, the most frames of each;
            none if empty.
        dropout: probability in [0, 1), of the vectors, after attention and in each MLP.
        drop_path: probability in [0, 1) that the last block is skipped in training.
        eps: of the layer norms.
        vocab_size: tokens of transcripts.
        by: how they are recognised: by `ctc`, `attention` or `joint`.
        ctc_weight: share of what vectors emit, by `joint`.
        decoder_depth: blocks of the decoder, by `attention` and `joint`; half of `depth` if None.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    pattern = window_of(window)
    stem = FrameStem(
        dim,
        bands=bands,
        normalise=normalise,
        augment=masks(spec_augment),
        ahead=pattern is None or pattern.right > 0,
        pattern=pattern,
        position=position,
        dropout=dropout,
    )
    make = with_position(attention, position, reach_of(pattern) + 1)
    encoder = Encoder(dim, depth, num_heads, mlp_dim, attention=make, dropout=dropout, drop_path=drop_path, eps=eps)
    model: Composition
    if task == "generate":
        recognition = Recognition(vocab_size, by, ctc_weight, decoder_depth)
        sizes = {"dim": dim, "depth": depth, "num_heads": num_heads, "mlp_dim": mlp_dim}
        model = recogniser(stem, encoder, recognition, **sizes, dropout=dropout)
    else:
        model = SpeechTransformer(stem, encoder, head(task, dim, num_classes, pool="mean"))
    init_weights(model)
    return model
