"""Recognition of sound, three ways behind one encoder: by what each vector emits, by a decoder, or by both."""

from dataclasses import dataclass
from typing import NoReturn

from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.heads import NextToken
from zoo.core.layers.init import init_weights
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.layers.transformer import Decoder
from zoo.core.models.ctc import Ctc
from zoo.core.models.ctc_attention import Joint
from zoo.core.models.generator import Generator
from zoo.core.special_tokens import SYMBOLS
from zoo.plugins.shared.audio.streaming import SoundStream, Streams

WAYS = ("ctc", "attention", "joint")
BYTES = 260
"""Tokens of the vocabulary that needs no file: the bytes and four symbols."""
LONGEST = 512
"""Most tokens that a decoder writes, where nobody says less."""
AT_THE_END = (
    "by='attention': its decoder writes when the sound has ended; models made with by='ctc' or by='joint' tell what "
    "each vector emits"
)
"""Why there is no stream, and which models have one."""


@dataclass(frozen=True)
class Recognition:
    """Say how sound is recognised.

    Args:
        vocab_size: tokens there are; padding, which is the blank too, begin and end are the first three.
        by: one of `WAYS`.
        ctc_weight: share of what vectors emit, in (0, 1), by `joint`.
        decoder_depth: blocks of the decoder; None for half as many as the encoder has.

    Raises:
        ConfigError: If there is no such way, or no token besides the symbols.
    """

    vocab_size: int = BYTES
    by: str = "ctc"
    ctc_weight: float = 0.3
    decoder_depth: int | None = None

    def __post_init__(self) -> None:
        if self.by not in WAYS:
            raise ConfigError(f"by={self.by!r} is not one of {', '.join(WAYS)}")
        if self.vocab_size <= len(SYMBOLS):
            raise ConfigError(
                f"vocab_size={self.vocab_size}: at least {len(SYMBOLS) + 1}, as padding, begin and end say nothing"
            )


class Transcriber(Streams, Ctc):
    """What vectors of sound emit, also while they come."""


class Writer(Generator):
    """What a decoder writes of a sound that it has read whole."""

    def stream(self, batch: int = 1) -> NoReturn:
        """Refuse to listen: nothing is written before the end.

        Raises:
            ConfigError: In any case.
        """
        raise ConfigError(AT_THE_END)


class JointTranscriber(Joint):
    """What vectors of sound emit and a decoder writes; while they come, only what they emit."""

    def stream(self, batch: int = 1) -> SoundStream:
        """Begin to listen, as `Streams`; the decoder, which reads the whole, is not asked."""
        return Transcriber(self.stem, self.encoder, self.emitter, symbols=self.symbols).stream(batch)


def recogniser(
    stem: nn.Module,
    encoder: nn.Module,
    recognition: Recognition,
    *,
    dim: int,
    depth: int,
    num_heads: int,
    mlp_dim: int,
    dropout: float,
) -> Ctc | Generator:
    """Put a way of recognition behind an encoder.

    The decoder norms before each layer, with sinusoidal positions, and scores tokens on their embedding.

    Args:
        stem: sounds to `Tokens`.
        encoder: `Tokens` to `Tokens`.
        recognition: how sound is recognised.
        dim: channels of the encoder, and of the decoder.
        depth: blocks of the encoder.
        num_heads: heads of the decoder.
        mlp_dim: channels inside each MLP of the decoder.
        dropout: probability in [0, 1), in the decoder.
    """
    vocab_size = recognition.vocab_size
    if recognition.by == "ctc":
        return Transcriber(stem, encoder, NextToken(dim, vocab_size, bias=True))
    blocks = max(1, depth // 2) if recognition.decoder_depth is None else recognition.decoder_depth
    decoder = Decoder(dim, blocks, num_heads, mlp_dim, cross=Attention, dropout=dropout)
    target = TokenEmbed(vocab_size, dim, scaled=True, dropout=dropout)
    init_weights(decoder)
    nn.init.normal_(target.embed.weight, std=dim**-0.5)
    head = NextToken(dim, vocab_size, target.embed)
    if recognition.by == "attention":
        return Writer(target, decoder, head, encoder=encoder, stem=stem, max_len=LONGEST)
    emitter = NextToken(dim, vocab_size, bias=True)
    weight = recognition.ctc_weight
    return JointTranscriber(
        target, decoder, head, emitter, encoder=encoder, stem=stem, ctc_weight=weight, max_len=LONGEST
    )
