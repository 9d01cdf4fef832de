"""`RecurrentCaptioner`: a CNN and an LSTM that attends to its feature map, as Show, Attend and Tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from zoo.core import (
    SYMBOLS,
    Alignment,
    ConcatScore,
    ConfigError,
    ContextGate,
    Generator,
    HardAlignment,
    NextToken,
    PreviousStateDecoder,
    Stack,
    TokenEmbed,
    configured,
    of_vocabulary,
)
from zoo.plugins.caption.models.stems import PictureConfig

CHOICES: dict[str, type[Alignment]] = {"soft": Alignment, "hard": HardAlignment}


@dataclass(frozen=True, kw_only=True)
class RecurrentCaptionerConfig(PictureConfig):
    """Sizes and options of `RecurrentCaptioner`, behind those of `PictureConfig`.

    Args:
        vocab_size: tokens there are.
        position: of the places, added to them: `sinusoidal`, `learned` or `none`. The paper has none; its map has seen
            where the picture ends.
        dim: channels of a place, of a token and of the state.
        depth: layers of the decoder.
        cell: `lstm` or `gru`.
        choice: attention, `soft`, or `hard` for a single place, which REINFORCE trains (arXiv:1502.03044 sec. 4.1).
        gate: whether the state says how much of what is read counts (β, sec. 4.2.1).
        dropout: probability in [0, 1), of embedded tokens and of the decoder's answer.
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        symbols: padding, begin and end.
    """

    vocab_size: int = 260
    position: str = "sinusoidal"
    dim: int = 64
    depth: int = 1
    cell: str = "lstm"
    choice: str = "soft"
    gate: bool = True
    dropout: float = 0.1
    label_smoothing: float = 0.0
    symbols: Sequence[int] = SYMBOLS


class RecurrentCaptioner(Generator):
    """A feature map and an LSTM that attends to it with the state before each word: arXiv:1502.03044.

    The first state is made of the mean of the map (sec. 3.1.2); the answer is tanh(W [z; h]), where the paper adds the
    token before (eq. 7).

    Args:
        config: its fields are the keywords, see `RecurrentCaptionerConfig` and `PictureConfig`.

    Raises:
        ConfigError: If there is no such stem, cell or choice.
    """

    @configured(RecurrentCaptionerConfig)
    def __init__(self, config: RecurrentCaptionerConfig) -> None:
        if config.choice not in CHOICES:
            raise ConfigError(f"choice={config.choice!r} is not one of {', '.join(CHOICES)}")
        dim = config.dim
        target = TokenEmbed(config.vocab_size, dim, position="none", scaled=True, dropout=config.dropout)
        nn.init.normal_(target.embed.weight, std=dim**-0.5)
        decoder = PreviousStateDecoder(
            config.cell,
            dim,
            CHOICES[config.choice](ConcatScore(dim)),
            config.depth,
            gate=ContextGate(dim) if config.gate else None,
            pool="mean",
            dropout=config.dropout,
        )
        super().__init__(
            target,
            decoder,
            NextToken(dim, config.vocab_size, target.embed),
            encoder=Stack([]),
            stem=config.make_stem(dim, config.position),
            symbols=of_vocabulary(config.symbols, config.vocab_size),
        )
        self.label_smoothing = config.label_smoothing
