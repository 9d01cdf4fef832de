"""Speech recognition behind any encoder of sounds: by CTC, by an attention decoder, or by both."""

from typing import Any, NoReturn

from torch import nn

from zoo.core import (
    SYMBOLS,
    ConfigError,
    Ctc,
    EncoderDecoderConfig,
    Generator,
    Joint,
    NextToken,
    StreamingStep,
    Symbols,
    encoder_decoder_parts,
    init_weights,
)
from zoo.plugins.shared.audio.config import RecognitionConfig
from zoo.plugins.shared.audio.streaming import SoundStream, Streams

WAYS = ("ctc", "attention", "joint")
LONGEST = 512
"""Most tokens that a decoder writes, where nobody says less."""
AT_THE_END = (
    "by='attention': its decoder writes when the sound has ended; models made with by='ctc' or by='joint' tell what "
    "each vector emits"
)
"""Why there is no stream, and which models have one."""


class Transcriber(Streams, Ctc):
    """CTC model of sounds, which also streams."""


class Writer(Generator):
    """Encoder-decoder of sounds; it reads a sound whole."""

    def stream(self, batch: int = 1) -> NoReturn:
        """Refuse to stream: nothing is written before the end.

        Raises:
            ConfigError: In any case.
        """
        raise ConfigError(AT_THE_END)


class JointTranscriber(Joint):
    """CTC and attention decoder of sounds; a stream gives the CTC logits only."""

    def stream(self, batch: int = 1) -> SoundStream:
        """Begin a stream of CTC logits, as `Streams`; the decoder, which reads the whole, is not used."""
        return self._transcriber().stream(batch)

    def streaming_step(self) -> StreamingStep:
        """See `Streams.streaming_step`; of the CTC logits."""
        return self._transcriber().streaming_step()

    def _transcriber(self) -> Transcriber:
        return Transcriber(self.stem, self.encoder, self.emitter, symbols=self.symbols)


def recogniser(stem: nn.Module, encoder: nn.Module, config: RecognitionConfig) -> Ctc | Generator:
    """Put what writes transcripts behind an encoder of sounds: CTC, a decoder, or both.

    The decoder norms before each layer, with sinusoidal positions, and scores tokens on their embedding.

    Args:
        stem: sounds to `Tokens`.
        encoder: `Tokens` to `Tokens`.
        config: of the model.

    Raises:
        ConfigError: If there is no such way, labels are of another way or do not fit the blank, or there is no token
            besides the symbols.
    """
    if config.by not in WAYS:
        raise ConfigError(f"by={config.by!r} is not one of {', '.join(WAYS)}")
    if config.labels:
        symbols = _label_symbols(config)
        head = NextToken(config.dim, len(config.labels), bias=True)
        return Transcriber(stem, encoder, head, symbols=symbols)
    if config.vocab_size <= len(SYMBOLS):
        raise ConfigError(
            f"vocab_size={config.vocab_size}: at least {len(SYMBOLS) + 1}, as padding, begin and end say nothing"
        )
    if config.by == "ctc":
        return Transcriber(stem, encoder, NextToken(config.dim, config.vocab_size, bias=True))
    model = _decoder_parts(stem, encoder, config)
    if config.by == "attention":
        return Writer(**model)
    ctc_head = NextToken(config.dim, config.vocab_size, bias=True)
    return JointTranscriber(**model, emitter=ctc_head, ctc_weight=config.ctc_weight)


def _label_symbols(config: RecognitionConfig) -> Symbols:
    """Give the symbols of a vocabulary that has a blank, and neither begin nor end."""
    if config.by != "ctc":
        raise ConfigError(f"labels= with by={config.by!r}: only by='ctc' does without begin and end, which they lack")
    if not 0 <= config.blank < len(config.labels):
        raise ConfigError(f"blank={config.blank} is none of {len(config.labels)} labels, 0 … {len(config.labels) - 1}")
    return Symbols(config.blank, -1, -1)


def _decoder_parts(stem: nn.Module, encoder: nn.Module, config: RecognitionConfig) -> dict[str, Any]:
    """Make the parts of a model with an attention decoder."""
    sizes = EncoderDecoderConfig(
        vocab_size=config.vocab_size,
        dim=config.dim,
        depth=max(1, config.depth // 2) if config.decoder_depth is None else config.decoder_depth,
        num_heads=config.num_heads,
        mlp_dim=config.mlp_dim,
        dropout=config.dropout,
    )
    model = encoder_decoder_parts(sizes, encoder, sizes.decoder(), stem=stem) | {"max_len": LONGEST}
    init_weights(model["decoder"])
    nn.init.normal_(model["target"].embed.weight, std=config.dim**-0.5)
    return model
