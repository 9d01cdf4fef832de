"""Recurrent encoder and decoder of text, with or without attention; sizes are in `plugin.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from zoo.core import (
    CELLS,
    SYMBOLS,
    Alignment,
    AlignmentScore,
    AlignmentWindow,
    AttentiveDecoder,
    BilinearScore,
    ConcatScore,
    ConfigError,
    ContextGate,
    CopyHead,
    CopyingGenerator,
    DotScore,
    Generator,
    HardAlignment,
    InputFeedingDecoder,
    LocationScore,
    Monotonic,
    NextToken,
    Predictive,
    PresentStateDecoder,
    PreviousStateDecoder,
    RecurrentDecoder,
    Stack,
    TokenEmbed,
    configured,
    of_vocabulary,
)
from zoo.plugins.text.models.recurrent import BidirectionalBlock, RecurrentBlock


@dataclass(frozen=True, kw_only=True)
class RecurrentTranslatorConfig:
    """Sizes and options of `RecurrentTranslator`.

    Args:
        vocab_size: tokens there are, of source and target together.
        dim: channels of a token and of the states.
        depth: layers of the encoder, and of the decoder.
        cell: `lstm` or `gru`.
        dropout: probability in [0, 1), behind each layer of the encoder, between those of the decoder, and of its
            answer.
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        symbols: padding, begin and end.
    """

    vocab_size: int = 260
    dim: int = 128
    depth: int = 1
    cell: str = "lstm"
    dropout: float = 0.1
    label_smoothing: float = 0.1
    symbols: Sequence[int] = SYMBOLS


class RecurrentTranslator(Generator):
    """An encoder and a decoder of LSTM or GRU layers, without attention: arXiv:1409.3215.

    All that the decoder knows of the source is the encoder's last vector. One embedding serves the source, the target
    and the scores.

    Args:
        config: its fields are the keywords, see `RecurrentTranslatorConfig`.

    Raises:
        ConfigError: If there is no such cell, or no layer.
    """

    @configured(RecurrentTranslatorConfig)
    def __init__(self, config: RecurrentTranslatorConfig) -> None:
        decoder = RecurrentDecoder(config.cell, config.dim, config.depth, dropout=config.dropout)
        super().__init__(**recurrent_parts(config, decoder))
        self.label_smoothing = config.label_smoothing


CHOICES: dict[str, type[Alignment]] = {"soft": Alignment, "hard": HardAlignment}


@dataclass(frozen=True, kw_only=True)
class AttentionTranslatorConfig(RecurrentTranslatorConfig):
    """Sizes and options of `AttentionTranslator`.

    Args:
        score: of state and source: `dot`, `general`, `concat` or `location:PLACES` with the present state
            (arXiv:1508.04025), or `additive` with the state before (arXiv:1409.0473).
        local: the window that is read: `m:REACH` (it moves on with each token), `p:REACH` (the state says where it
            stands), or all of the source if empty; a REACH of 10 tokens if none is given.
        feeding: whether the cell reads what the step before answered (input feeding); with `additive` it reads what
            the step has read of the source, in any case.
        gate: whether the state says how much of what is read counts (arXiv:1502.03044).
        copy: whether tokens of the source may be copied (arXiv:1704.04368).
        choice: `soft`, or `hard` for a single token of the source, which REINFORCE trains (arXiv:1502.03044).
        bidirectional: whether the encoder reads from the end, too (arXiv:1409.0473 sec. 3.2).
    """

    score: str = "additive"
    local: str = ""
    feeding: bool = True
    gate: bool = False
    copy: bool = False
    choice: str = "soft"
    bidirectional: bool = False


class AttentionTranslator(CopyingGenerator):
    """An encoder and a decoder of LSTM or GRU layers, with attention: arXiv:1409.0473, arXiv:1508.04025.

    One embedding serves the source, the target and the scores.

    Args:
        config: its fields are the keywords, see `AttentionTranslatorConfig`.

    Raises:
        ConfigError: If there is no such cell, score or window, or no layer.
    """

    @configured(AttentionTranslatorConfig)
    def __init__(self, config: AttentionTranslatorConfig) -> None:
        if config.choice not in CHOICES:
            raise ConfigError(f"choice={config.choice!r} is not one of {', '.join(CHOICES)}")
        parts = score_of(config.score, config.dim), window_of(config.local, config.dim)
        alignment = CHOICES[config.choice](*parts)
        gate = ContextGate(config.dim) if config.gate else None
        kind = decoder_kind(config.score, config.feeding)
        decoder = kind(config.cell, config.dim, alignment, config.depth, gate=gate, dropout=config.dropout)
        made = recurrent_parts(config, decoder, BidirectionalBlock if config.bidirectional else RecurrentBlock)
        if config.copy:
            made["head"] = CopyHead(made["head"])
        super().__init__(**made)
        self.label_smoothing = config.label_smoothing


def recurrent_parts(
    config: RecurrentTranslatorConfig,
    decoder: RecurrentDecoder,
    block: type[RecurrentBlock] | type[BidirectionalBlock] = RecurrentBlock,
) -> dict[str, Any]:
    """Give the parts of a `Generator`."""
    target = TokenEmbed(config.vocab_size, config.dim, position="none", scaled=True, dropout=config.dropout)
    nn.init.normal_(target.embed.weight, std=config.dim**-0.5)
    blocks = [block(CELLS[config.cell], config.dim, config.dropout) for _ in range(config.depth)]
    return {
        "target": target,
        "decoder": decoder,
        "head": NextToken(config.dim, config.vocab_size, target.embed),
        "encoder": Stack(blocks),
        "symbols": of_vocabulary(config.symbols, config.vocab_size),
    }


def decoder_kind(score: str, feeding: bool) -> type[AttentiveDecoder]:
    """Choose the decoder by what its score is asked of."""
    if score == "additive":
        return PreviousStateDecoder
    return InputFeedingDecoder if feeding else PresentStateDecoder


def score_of(text: str, dim: int) -> AlignmentScore:
    """Make a score of its name: `general`, `location:64`.

    Raises:
        ConfigError: If there is none of that name.
    """
    name, colon, places = text.partition(":")
    plain: dict[str, Callable[[], AlignmentScore]] = {
        "dot": DotScore,
        "general": lambda: BilinearScore(dim),
        "concat": lambda: ConcatScore(dim),
        "additive": lambda: ConcatScore(dim),
    }
    if name == "location" and places.isdecimal():
        return LocationScore(dim, int(places))
    if name not in plain or colon:
        raise ConfigError(f"score={text!r} is not one of {', '.join(plain)}, location:PLACES (such as location:64)")
    return plain[name]()


def window_of(text: str, dim: int) -> AlignmentWindow | None:
    """Make a window of its name: `m`, `p:10`; None of an empty one.

    Raises:
        ConfigError: If there is none of that name.
    """
    name, colon, reach = text.partition(":")
    if name not in ("", "m", "p") or (colon and not (name and reach.isdecimal())):
        raise ConfigError(
            f"local={text!r} is not m[:REACH] or p[:REACH], such as p:10; leave it out to read everything"
        )
    if not name:
        return None
    given = (int(reach),) if colon else ()
    return Monotonic(*given) if name == "m" else Predictive(dim, *given)
