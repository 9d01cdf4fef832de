"""The text models: an encoder with a decoder, an encoder, a decoder; sizes are in `plugin.py`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.blocks import PostNormBlock, PreNormBlock
from zoo.core.layers.heads import MaskedToken, NextToken, PooledClassify, head
from zoo.core.layers.mlp import activated
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.layers.transformer import Decoder, Encoder
from zoo.core.models.generator import Generator
from zoo.core.models.model import Model
from zoo.core.special_tokens import SYMBOLS, Symbols
from zoo.core.tokens import Tokens
from zoo.plugins.text.models.building import Make, init_text, of_vocabulary, sized
from zoo.plugins.text.tokens import BertStem

NORMS = {"post": PostNormBlock, "pre": PreNormBlock, "post-last": PostNormBlock}
"""Where a norm stands: behind each sum, before each layer, or behind each sum and once more behind the stack, as in
`torch.nn.Transformer`."""


SHIFTED = ("sinusoidal", "learned")
"""Positions that can be counted from elsewhere: those that are added to the vectors."""


class Transformer(Generator):
    """An encoder and a decoder of text on one embedding, which is the output's too: arXiv:1706.03762.

    Dropout acts on the embedded tokens, after each attention and in each MLP (inside too, as in the paper's code); it
    does not act on attention weights.

    Args:
        vocab_size: tokens there are, of source and target together.
        dim: channels of a token.
        depth: blocks of the encoder, and of the decoder.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        head_dim: channels of a head of queries and keys (d_k); `dim / num_heads` if None.
        value_dim: channels of a head of values (d_v); `head_dim` if None.
        attention: makes the attention within source and target from (dim, num_heads); what the decoder reads of the
            encoder is plain attention.
        position: `sinusoidal`, `learned` (one table for source and target) or `none`, or inside attention within source
            and target `rotary`, `alibi`, `relative` (a table), `transformer-xl`, `shaw`.
        norm: one of `NORMS`.
        activation: inside each MLP, one of `zoo.core.layers.mlp.ACTIVATIONS`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        eps: of the layer norms.
        symbols: padding, begin and end.
        output_bias: whether each token has a number that is added to its score, as in Marian.
        shift: in training, positions that are added are counted from a random number up to this, the same in source
            and target (arXiv:2109.05969), so that places far along are known where all texts were short; 0 for none.
            Learned positions leave a batch less room the longer it is.

    Raises:
        ConfigError: If a value is not one of those there are, or the attention does not take the heads' sizes.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 41_000,
        dim: int = 512,
        depth: int = 6,
        num_heads: int = 8,
        mlp_dim: int = 2048,
        head_dim: int | None = None,
        value_dim: int | None = None,
        attention: Make = Attention,
        position: str = "sinusoidal",
        norm: str = "post",
        activation: str = "relu",
        max_len: int = 512,
        dropout: float = 0.1,
        label_smoothing: float = 0.1,
        eps: float = 1e-6,
        symbols: Sequence[int] = SYMBOLS,
        output_bias: bool = False,
        shift: int = 0,
    ) -> None:
        if norm not in NORMS:
            raise ConfigError(f"norm={norm!r} is not one of {', '.join(NORMS)}")
        if shift < 0 or (shift and position not in SHIFTED):
            raise ConfigError(f"shift={shift} of position={position!r}: a number of at least 0, and more with "
                              f"{' or '.join(SHIFTED)} only")  # fmt: skip
        sizes = {"head_dim": head_dim, "value_dim": value_dim}
        own = with_position(sized(attention, **sizes), position, max_len)
        shape = (dim, depth, num_heads, mlp_dim)
        parts: dict[str, Any] = {"block": NORMS[norm], "mlp": activated(activation), "dropout": dropout, "eps": eps}
        encoder = Encoder(*shape, attention=own, **parts)
        decoder = Decoder(*shape, attention=own, cross=sized(Attention, **sizes), **parts)
        if norm == "post-last":
            encoder.norm, decoder.norm = nn.LayerNorm(dim, eps=eps), nn.LayerNorm(dim, eps=eps)
        embed = TokenEmbed(vocab_size, dim, position=position, max_len=max_len, scaled=True, dropout=dropout)
        super().__init__(
            embed,
            decoder,
            NextToken(dim, vocab_size, embed.embed, bias=output_bias),
            encoder=encoder,
            symbols=of_vocabulary(symbols, vocab_size),
            max_len=max_len if position == "learned" else None,
        )
        self.label_smoothing = label_smoothing
        self.shift = shift
        init_text(self, dim**-0.5)

    def read(self, *inputs: Any) -> tuple[Tokens, Tokens | None]:
        """See `Generator.read`; a training's positions are shifted."""
        if not (self.training and self.shift) or len(inputs) < 2:
            return super().read(*inputs)
        ids, there, target = inputs[0], inputs[1] if len(inputs) > 2 else None, inputs[-1]
        most = self.shift
        if self.max_len is not None:
            most = max(0, min(most, self.max_len - max(ids.shape[1], target.shape[1])))
        start = torch.randint(most + 1, (len(ids), 1), device=ids.device)
        places = (torch.ones_like(ids) if there is None or there.dtype != torch.bool else there).long().cumsum(1) - 1
        written = start + torch.arange(target.shape[1], device=ids.device)
        return self.target(target, None, written), self.encode(ids, there, start + places)


class Bert(Model):
    """An encoder that reads both ways: arXiv:1810.04805.

    Dropout acts where that of `Transformer` does.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (from the pooled first token), `tag`, `features`, or `masked-token` (a score for each token of
            the vocabulary in each place, on the embedding).
        attention: makes an attention from (dim, num_heads).
        position: `learned`, `sinusoidal` or `none`, or inside attention as for `Transformer`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        eps: of the layer norms.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 30_522,
        dim: int = 768,
        depth: int = 12,
        num_heads: int = 12,
        mlp_dim: int = 3072,
        num_classes: int = 0,
        task: str = "classify",
        attention: Make = Attention,
        position: str = "learned",
        max_len: int = 512,
        dropout: float = 0.1,
        eps: float = 1e-12,
    ) -> None:
        stem = BertStem(vocab_size, dim, position=position, max_len=max_len, dropout=dropout, eps=eps)
        make = with_position(attention, position, max_len)
        parts: dict[str, Any] = {"block": PostNormBlock, "mlp": activated("gelu"), "dropout": dropout, "eps": eps}
        encoder = Encoder(dim, depth, num_heads, mlp_dim, attention=make, **parts)
        super().__init__(stem, encoder, bert_head(task, dim, num_classes, stem.tokens.embed, eps))
        init_text(self, 0.02)


class Gpt(Generator):
    """A decoder alone, which writes on: GPT-2 (Radford et al. 2019), whose norms stand before each layer.

    Dropout acts where that of `Transformer` does.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        attention: makes an attention from (dim, num_heads); whatever it is, nothing reads what comes later.
        position: `learned`, `sinusoidal` or `none`, or inside attention as for `Transformer`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        eps: of the layer norms.
        symbols: padding, begin and end; None for GPT-2's one symbol where the vocabulary has its size, else the usual.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 50_257,
        dim: int = 768,
        depth: int = 12,
        num_heads: int = 12,
        mlp_dim: int = 3072,
        attention: Make = Attention,
        position: str = "learned",
        max_len: int = 1024,
        dropout: float = 0.1,
        label_smoothing: float = 0.0,
        eps: float = 1e-5,
        symbols: Sequence[int] | None = None,
    ) -> None:
        embed = TokenEmbed(vocab_size, dim, position=position, max_len=max_len, dropout=dropout)
        make = with_position(attention, position, max_len)
        parts: dict[str, Any] = {"block": PreNormBlock, "mlp": activated("gelu-tanh"), "dropout": dropout, "eps": eps}
        if symbols is None:
            symbols = GPT2_SYMBOLS if vocab_size == GPT2_VOCABULARY else SYMBOLS
        super().__init__(
            embed,
            Decoder(dim, depth, num_heads, mlp_dim, attention=make, **parts),
            NextToken(dim, vocab_size, embed.embed),
            symbols=of_vocabulary(symbols, vocab_size),
            max_len=max_len if position == "learned" else None,
        )
        self.label_smoothing = label_smoothing
        init_text(self, 0.02)


GPT2_VOCABULARY = 50_257
GPT2_SYMBOLS = Symbols(50_256, 50_256, 50_256)
"""`<|endoftext|>` ends a text and begins the next; nothing is there for padding, which is never read."""


def bert_head(task: str, dim: int, num_classes: int, embed: nn.Embedding, eps: float) -> nn.Module:
    """Make the head of a task: labels for the set come from BERT's pooled vector, tokens from its embedding.

    Raises:
        ConfigError: If there is no such task.
    """
    if task == "classify":
        return PooledClassify(dim, num_classes)
    if task == "masked-token":
        return MaskedToken(dim, embed, eps)
    return head(task, dim, num_classes)
