"""Recurrent language models: an LSTM or GRU that writes on; sizes are in `plugin.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from zoo.core import SYMBOLS, Generator, NextToken, RecurrentLayers, TokenEmbed, configured, of_vocabulary


@dataclass(frozen=True, kw_only=True)
class RecurrentLanguageModelConfig:
    """Sizes and options of `RecurrentLanguageModel`.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token and of the states.
        depth: layers.
        cell: `lstm` or `gru`.
        max_len: tokens of a text in training; longer ones follow in pieces. What is written may have any length.
        dropout: probability in [0, 1), of the embedded tokens, between layers, and of the last one's output.
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        symbols: padding, begin and end.
    """

    vocab_size: int = 260
    dim: int = 256
    depth: int = 2
    cell: str = "lstm"
    max_len: int = 512
    dropout: float = 0.1
    label_smoothing: float = 0.0
    symbols: Sequence[int] = SYMBOLS


class RecurrentLanguageModel(Generator):
    """Layers of LSTM or GRU that give the next token, regularised as in arXiv:1409.2329 sec. 3.1.

    The embedding is the output's too (arXiv:1608.05859). A step reads one token and a state of constant size, however
    much was read before.

    Args:
        config: its fields are the keywords, see `RecurrentLanguageModelConfig`.

    Raises:
        ConfigError: If there is no such cell, or no layer.
    """

    @configured(RecurrentLanguageModelConfig)
    def __init__(self, config: RecurrentLanguageModelConfig) -> None:
        embed = TokenEmbed(config.vocab_size, config.dim, position="none", scaled=True, dropout=config.dropout)
        nn.init.normal_(embed.embed.weight, std=config.dim**-0.5)
        super().__init__(
            embed,
            RecurrentLayers(config.cell, config.dim, config.depth, dropout=config.dropout),
            NextToken(config.dim, config.vocab_size, embed.embed),
            symbols=of_vocabulary(config.symbols, config.vocab_size),
        )
        self.label_smoothing = config.label_smoothing
