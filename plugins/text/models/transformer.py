"""The text models: an encoder with a decoder, an encoder, a decoder; sizes are in `plugin.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from zoo.core import (
    POOLED,
    SYMBOLS,
    Attention,
    AttentionLayer,
    ConfigError,
    Decoder,
    Encoder,
    EncoderDecoderConfig,
    Generator,
    MakeAttention,
    MaskedToken,
    Model,
    NextToken,
    PooledClassify,
    PostNormBlock,
    PreNormBlock,
    Symbols,
    Tokens,
    canonical,
    configured,
    encoder_decoder_parts,
    head,
    mlp_with,
    of_vocabulary,
    with_position,
)
from zoo.plugins.text.models.initialization import init_text, sized
from zoo.plugins.text.tokens import BertStem

NORMS = {"post": PostNormBlock, "pre": PreNormBlock, "post-last": PostNormBlock}
"""Where a norm stands: behind each sum, before each layer, or behind each sum and once more behind the stack, as in
`torch.nn.Transformer`."""


SHIFTED = ("sinusoidal", "learned")
"""Positions that can be counted from elsewhere: those that are added to the vectors."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(EncoderDecoderConfig):
    """Sizes and variants of `Transformer`.

    Args:
        head_dim: channels of a head of queries and keys (d_k); `dim / num_heads` if None.
        value_dim: channels of a head of values (d_v); `head_dim` if None.
        norm: one of `NORMS`.
        activation: inside each MLP, one of `zoo.core.layers.mlp.ACTIVATIONS`.
        output_bias: whether each token has a number that is added to its score, as in Marian.
        shift: in training, positions that are added are counted from a random number up to this, the same in source
            and target (arXiv:2109.05969), so that places far along are known where all texts were short; 0 for none.
            Learned positions leave a batch less room the longer it is.
    """

    head_dim: int | None = None
    value_dim: int | None = None
    norm: str = "post"
    activation: str = "relu"
    output_bias: bool = False
    shift: int = 0


class Transformer(Generator):
    """An encoder and a decoder of text on one embedding, which is the output's too: arXiv:1706.03762.

    Dropout acts on the embedded tokens, after each attention and in each MLP (inside too, as in the paper's code); it
    does not act on attention weights.

    Args:
        config: its fields are the keywords, see `TransformerConfig` and `EncoderDecoderConfig`.

    Raises:
        ConfigError: If a value is not one of those there are, or the attention does not take the heads' sizes.
    """

    @configured(TransformerConfig)
    def __init__(self, config: TransformerConfig) -> None:
        if config.norm not in NORMS:
            raise ConfigError(f"norm={config.norm!r} is not one of {', '.join(NORMS)}")
        if config.shift < 0 or (config.shift and config.position not in SHIFTED):
            raise ConfigError(
                f"shift={config.shift} of position={config.position!r}: a number of at least 0, and more with "
                f"{' or '.join(SHIFTED)} only"
            )
        sizes = {"head_dim": config.head_dim, "value_dim": config.value_dim}
        own = with_position(sized(config.attention, **sizes), config.position, config.max_len)
        blocks: dict[str, Any] = {"block": NORMS[config.norm], "mlp": mlp_with(config.activation)}
        encoder = config.encoder(own, **blocks)
        decoder = config.decoder(own, sized(Attention, **sizes), **blocks)
        if config.norm == "post-last":
            encoder.norm, decoder.norm = (nn.LayerNorm(config.dim, eps=config.eps) for _ in range(2))
        super().__init__(**encoder_decoder_parts(config, encoder, decoder, bias=config.output_bias))
        self.label_smoothing = config.label_smoothing
        self.shift = config.shift
        init_text(self, config.dim**-0.5)

    def read(self, *inputs: Any) -> tuple[Tokens, Tokens | None]:
        """See `Generator.read`; a training's positions are shifted."""
        if not (self.training and self.shift) or len(inputs) < 2:
            return super().read(*inputs)
        source, (target,) = self.split(inputs)
        ids, valid = (*source, None)[:2]
        most = self.shift
        if self.max_len is not None:
            most = max(0, min(most, self.max_len - max(ids.shape[1], target.shape[1])))
        start = torch.randint(most + 1, (len(ids), 1), device=ids.device)
        places = (torch.ones_like(ids) if valid is None or valid.dtype != torch.bool else valid).long().cumsum(1) - 1
        written = start + torch.arange(target.shape[1], device=ids.device)
        return self.target(target, None, written), self.encode(ids, valid, start + places)


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes and task of `Bert`, by default the base model of arXiv:1810.04805.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels of `classify`, `multi-label` and `tag`; 0 for features.
        task: `classify` and `multi-label` (from the pooled first token, or the pooled mean where attention is
            causal), `tag`, `features`, or `masked-token` (a score for each token of the vocabulary in each place, on
            the embedding).
        attention: makes an attention from (dim, num_heads).
        position: `learned`, `sinusoidal` or `none`, or inside attention as for `Transformer`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        eps: of the layer norms.
        symbols: padding, begin and end of what it writes behind an encoder; None for BERT's where the vocabulary has
            its size or fewer than `FILLED` tokens more, else the usual.
    """

    vocab_size: int = 30_522
    dim: int = 768
    depth: int = 12
    num_heads: int = 12
    mlp_dim: int = 3072
    num_classes: int = 0
    task: str = "classify"
    attention: MakeAttention = Attention
    position: str = "learned"
    max_len: int = 512
    dropout: float = 0.1
    eps: float = 1e-12
    symbols: Sequence[int] | None = None


class Bert(Model):
    """An encoder that reads both ways: arXiv:1810.04805.

    Behind another encoder it writes, as its tokens then read those before them only; its output is that of the task
    `masked-token` (Hugging Face's `BertLMHeadModel`).

    Dropout acts where that of `Transformer` does.

    Args:
        config: its fields are the keywords, see `BertConfig`.
    """

    @configured(BertConfig)
    def __init__(self, config: BertConfig) -> None:
        dim, rates = config.dim, {"dropout": config.dropout, "eps": config.eps}
        stem = BertStem(config.vocab_size, dim, position=config.position, max_len=config.max_len, **rates)
        make = with_position(config.attention, config.position, config.max_len)
        blocks: dict[str, Any] = {"block": PostNormBlock, "mlp": mlp_with("gelu"), "attention": make} | rates
        encoder = Encoder(dim, config.depth, config.num_heads, config.mlp_dim, **blocks)
        pool = "mean" if reads_only_back(encoder) else "first"
        super().__init__(stem, encoder, bert_head(config, stem.tokens.embed, pool))
        self.symbols = config.symbols
        self.max_len = config.max_len if config.position == "learned" else None
        init_text(self, 0.02)

    def behind(self, source: nn.Module) -> Generator:
        """See `Composition.behind`; each token reads those before it.

        Raises:
            ConfigError: If its head gives no scores of tokens, or its attention cannot keep to what comes before.
        """
        if not isinstance(self.head, MaskedToken):
            raise ConfigError("a BERT whose head writes no tokens, behind an encoder: make it with task='masked-token'")
        size = self.head.num_classes
        symbols = of_vocabulary(usual_symbols(size) if self.symbols is None else self.symbols, size)
        decoder = Decoder.of(self.encoder)
        return Generator(self.stem, decoder, self.head, symbols=symbols, max_len=self.max_len).behind(source)


@dataclass(frozen=True, kw_only=True)
class GptConfig(EncoderDecoderConfig):
    """Sizes of `Gpt`, by default the small GPT-2 (Radford et al. 2019); there is one stack of blocks.

    Args:
        symbols: padding, begin and end; None for GPT-2's one symbol where the vocabulary has its size or fewer than
            `FILLED` tokens more, else the usual.
    """

    vocab_size: int = 50_257
    dim: int = 768
    depth: int = 12
    num_heads: int = 12
    mlp_dim: int = 3072
    position: str = "learned"
    max_len: int = 1024
    label_smoothing: float = 0.0
    eps: float = 1e-5
    symbols: Sequence[int] | None = None  # type: ignore[assignment]


class Gpt(Generator):
    """A decoder alone, which writes on: GPT-2 (Radford et al. 2019), whose norms stand before each layer.

    Dropout acts where that of `Transformer` does; whatever the attention is, nothing reads what comes later.

    Args:
        config: its fields are the keywords, see `GptConfig` and `EncoderDecoderConfig`.
    """

    @configured(GptConfig)
    def __init__(self, config: GptConfig) -> None:
        vocab_size = config.vocab_size
        symbols = usual_symbols(vocab_size) if config.symbols is None else config.symbols
        embed = config.embedding(scaled=False)
        super().__init__(
            embed,
            config.decoder(cross=None, block=PreNormBlock, mlp=mlp_with("gelu-tanh")),
            NextToken(config.dim, vocab_size, embed.embed),
            symbols=of_vocabulary(symbols, vocab_size),
            max_len=config.limit,
        )
        self.label_smoothing = config.label_smoothing
        init_text(self, 0.02)


FILLED = 128
"""Published vocabularies are filled up to multiples of 8 … 128, for speed, or have tokens added."""
PUBLISHED = {50_257: Symbols(50_256, 50_256, 50_256), 30_522: Symbols(0, 101, 102)}
"""Symbols of vocabularies of a size. GPT-2: `<|endoftext|>` ends a text and begins the next; nothing is there for
padding, which is never read. BERT: `[PAD]`, `[CLS]` and `[SEP]`."""


def usual_symbols(vocab_size: int) -> Symbols:
    """Give padding, begin and end of the published vocabulary of a size, or of one that was filled up; else ours."""
    return next((each for size, each in PUBLISHED.items() if 0 <= vocab_size - size < FILLED), SYMBOLS)


def bert_head(config: BertConfig, embed: nn.Embedding, pool: str) -> nn.Module:
    """Make the head of a task: labels for the set come from BERT's pooled vector, tokens from its embedding.

    Raises:
        ConfigError: If there is no such task.
    """
    if config.task in POOLED:
        return PooledClassify(config.dim, config.num_classes, pool)
    if config.task == "masked-token":
        return MaskedToken(config.dim, embed, config.eps)
    return head(config.task, config.dim, config.num_classes)


def reads_only_back(encoder: nn.Module) -> bool:
    """Tell whether no attention lets a token read a later one, so that the first token knows nothing of the text."""
    patterns = [part.pattern for part in encoder.modules() if isinstance(part, AttentionLayer)]
    return bool(patterns) and all(canonical(pattern).cover().right == 0 for pattern in patterns)
