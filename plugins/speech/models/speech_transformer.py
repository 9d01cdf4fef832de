"""The speech encoder: a Transformer with windowed attention on vectors of 40 ms; sizes are in `plugin.py`."""

from dataclasses import dataclass

from zoo.core import Composition, Encoder, Model, configured, head, init_weights
from zoo.plugins.shared.audio.asr import recogniser
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.shared.audio.streaming import Streams


class SpeechTransformer(Streams, Model):
    """A speech encoder with a head for labels, or for none; `speech_transformer` makes it."""


@dataclass(frozen=True, kw_only=True)
class SpeechConfig(SoundConfig):
    """Sizes and options of `speech_transformer`.

    Args:
        eps: of the layer norms.
    """

    eps: float = 1e-5


@configured(SpeechConfig)
def speech_transformer(config: SpeechConfig) -> Composition:
    """Compose frames, a pre-norm encoder whose attention is truncated, and a head: arXiv:1910.12977.

    There the encoder is trained as a transducer; a head of the zoo stands here, or what recognises. Cost and memory
    grow with the duration. Looking 0 ahead, the convolutions of the stem look back only, too.

    Args:
        config: its fields are the keywords, see `SoundConfig` and `SpeechConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    pattern = config.pattern
    stem = FrameStem(config, ahead=pattern is None or pattern.right > 0)
    encoder = Encoder(
        config.dim,
        config.depth,
        config.num_heads,
        config.mlp_dim,
        attention=config.self_attention(),
        dropout=config.dropout,
        drop_path=config.drop_path,
        eps=config.eps,
    )
    model: Composition
    if config.task == "generate":
        model = recogniser(stem, encoder, config)
    else:
        model = SpeechTransformer(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
    init_weights(model)
    return model
