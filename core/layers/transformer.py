"""Stacks of blocks: `Stack` of any, `Encoder`, `Decoder`, and the last two together."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from torch import nn

from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.static import Static
from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.attention import Attention
from zoo.core.layers.blocks import Block, PreNormBlock
from zoo.core.layers.mlp import Mlp
from zoo.core.layers.packing import Packed, pack, packable
from zoo.core.layers.protocol import AttentionLayer, ChecksPattern
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.streaming.stages import Chain, Pointwise, stream_of
from zoo.core.tokens import Tokens, tokens_of

CAUSAL = Causal()


class Stack(nn.Module):
    """Blocks one behind the other, and a norm behind the last.

    Args:
        blocks: each gives the same set with new vectors, `Tokens -> Tokens`.
        norm: behind the last block; none if None.
    """

    def __init__(self, blocks: Iterable[nn.Module], norm: nn.Module | None = None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Identity() if norm is None else norm

    def forward(self, tokens: Tokens) -> Tokens:
        """Apply every block and the last norm; padding is left out where it costs more than packing the rest."""
        packed = self._packed(tokens)
        inside = tokens.without_padding() if packed is None else packed.tokens
        for block in self.blocks:
            inside = block(inside)
        inside = inside.with_x(self.norm(inside.x))
        return inside if packed is None else packed.back(inside)

    def states(self, tokens: Tokens) -> Iterator[Tokens]:
        """Give the tokens after each block; the last also after the last norm, as `forward` does."""
        packed = self._packed(tokens)
        inside = tokens.without_padding() if packed is None else packed.tokens
        for index, block in enumerate(self.blocks):
            inside = block(inside)
            shown = inside.with_x(self.norm(inside.x)) if index == len(self.blocks) - 1 else inside
            yield shown if packed is None else packed.back(shown)

    def _packed(self, tokens: Tokens) -> Packed | None:
        tokens = tokens_of(tokens)
        return pack(tokens) if tokens.keys is not None and packable(self.blocks) else None

    def stream(self, pattern: Pattern | None = None) -> Chain:
        """Give the stages that do the same while vectors come.

        Args:
            pattern: what the tokens will say.

        Raises:
            ConfigError: If a block has to see them all.
        """
        return Chain([*(stream_of(block, pattern) for block in self.blocks), Pointwise(self.norm)])


class Encoder(Stack):
    """A stack of blocks, with a last norm where the blocks norm first.

    Args:
        dim: channels.
        depth: blocks.
        num_heads: heads of each attention.
        mlp_dim: channels inside each MLP.
        block: `PreNormBlock` or `PostNormBlock`.
        attention: makes each block's attention from `(dim, num_heads)`.
        mlp: makes each block's MLP from `(dim, mlp_dim, dropout)`.
        dropout: probability in [0, 1), after attention and inside the MLP.
        drop_path: probability in [0, 1) of the last block; it grows linearly from 0 at the first.
        eps: of the layer norms.
    """

    def __init__(
        self,
        dim: int,
        depth: int,
        num_heads: int,
        mlp_dim: int,
        *,
        block: type[Block] = PreNormBlock,
        attention: Callable[[int, int], nn.Module] = Attention,
        mlp: Callable[[int, int, float], nn.Module] = Mlp,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-6,
    ) -> None:
        rates = drop_rates(depth, drop_path)
        parts: dict[str, Any] = {"dropout": dropout, "eps": eps}
        blocks = [
            block(dim, attention(dim, num_heads), mlp(dim, mlp_dim, dropout), drop_path=rate, **parts) for rate in rates
        ]
        super().__init__(blocks, last_norm(block, dim, eps))


class Decoder(nn.Module):
    """A stack of blocks that read what comes before, and perhaps an encoder's vectors: arXiv:1706.03762 sec. 3.1.

    Args:
        dim: channels.
        depth: blocks.
        num_heads: heads of each attention.
        mlp_dim: channels inside each MLP.
        block: `PreNormBlock` or `PostNormBlock`.
        attention: makes each block's attention to what was decoded from `(dim, num_heads)`.
        cross: makes each block's attention to an encoder's vectors; None for a decoder that reads none.
        mlp: makes each block's MLP from `(dim, mlp_dim, dropout)`.
        pattern: who may read whom of what was decoded, on top of what tokens and attention say; one that reads ahead
            serves sets that are there at once, and gets no `state`.
        dropout: probability in [0, 1), after attention and inside the MLP.
        drop_path: probability in [0, 1) of the last block; it grows linearly from 0 at the first.
        eps: of the layer norms.
    """

    def __init__(
        self,
        dim: int,
        depth: int,
        num_heads: int,
        mlp_dim: int,
        *,
        block: type[Block] = PreNormBlock,
        attention: Callable[[int, int], nn.Module] = Attention,
        cross: Callable[[int, int], nn.Module] | None = None,
        mlp: Callable[[int, int, float], nn.Module] = Mlp,
        pattern: Pattern = CAUSAL,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()

        def make(rate: float) -> Block:
            reads = None if cross is None else cross(dim, num_heads)
            own = attention(dim, num_heads)
            if isinstance(own, ChecksPattern):
                own.check_pattern(pattern)
            parts = own, mlp(dim, mlp_dim, dropout), reads
            return block(dim, *parts, drop_path=rate, dropout=dropout, eps=eps)

        self.pattern = pattern
        self.crosses = cross is not None
        self.blocks = nn.ModuleList(make(rate) for rate in drop_rates(depth, drop_path))
        self.norm = last_norm(block, dim, eps)

    @classmethod
    def of(cls, stack: Stack, pattern: Pattern = CAUSAL) -> "Decoder":
        """Give a decoder of the blocks of a stack, which both share: an encoder that reads what comes before only.

        Args:
            stack: of blocks that read no other vectors.
            pattern: who may read whom.

        Raises:
            ConfigError: If an attention cannot keep to the pattern.
        """
        for block in stack.blocks:
            if isinstance(own := getattr(block, "attention", None), ChecksPattern):
                own.check_pattern(pattern)
        found = cls.__new__(cls)
        nn.Module.__init__(found)
        found.pattern, found.crosses = pattern, False
        found.blocks, found.norm = stack.blocks, stack.norm
        return found

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None) -> Tokens:
        """Apply every block and the last norm.

        Args:
            tokens: what was decoded; with a state, what follows on what it keeps.
            context: vectors of an encoder, for decoders that read them; with a state needed the first time only.
            state: what earlier calls have read; made by `state`, and changed.

        Raises:
            InputError: If a context is missing or not read.
        """
        for last in self.states(tokens, context, state):  # noqa: B007
            pass
        return last

    def states(
        self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None
    ) -> Iterator[Tokens]:
        """Give the tokens after each block; the last also after the last norm, as `forward` does."""
        kept = state is not None and state.filled
        if self.crosses and context is None and not kept:
            raise InputError("this decoder reads the vectors of an encoder: give context=")
        if context is not None:
            if not self.crosses:
                raise InputError("a context given to a decoder that reads none: make it with cross=Attention")
            context = tokens_of(context).without_padding()
        given = tokens
        tokens = tokens_of(tokens).without_padding()
        pattern = self.pattern if tokens.pattern is None else tokens.pattern & self.pattern
        tokens = replace(tokens, pattern=pattern)
        for index, block in enumerate(self.blocks):
            tokens = block(tokens, context, None if state is None else state.layers[index])
            x = self.norm(tokens.x) if index == len(self.blocks) - 1 else tokens.x
            yield given.with_x(x)

    def state(self, batch: int, *, capacity: int = 16, spare: int = 0) -> DecoderState:
        """Make an empty state: each layer keeps a window where its pattern looks back a bounded way, else everything.

        Args:
            batch: rows.
            capacity: tokens to make room for at first.
            spare: tokens that may be cropped again, where only a window is kept.

        Raises:
            ConfigError: If a layer reads ahead, so that steps cannot agree with the whole, or keeps no state.
        """
        layers = []
        for block in self.blocks:
            attention = block.attention
            if not isinstance(attention, AttentionLayer):
                kind = type(attention).__name__
                raise ConfigError(f"{kind} keeps no state: it decodes without one; an AttentionLayer keeps one")
            check_causal(self.pattern & attention.pattern)
            own = attention.state(batch, self.pattern, capacity=capacity, spare=spare)
            layers.append(LayerState(own, Static(batch) if self.crosses else None))
        return DecoderState(layers)


class EncoderDecoder(nn.Module):
    """An encoder, and a decoder that reads its vectors: arXiv:1706.03762 sec. 3.1.

    Args:
        encoder: `Tokens` to `Tokens`.
        decoder: a `Decoder` made with `cross=`, of the same channels.
    """

    def __init__(self, encoder: nn.Module, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, source: Tokens, target: Tokens) -> Tokens:
        """Return the target's vectors; each attends to those before it and to the whole source."""
        return self.decoder(target, self.encode(source))

    def encode(self, source: Tokens) -> Tokens:
        """Return the encoder's output for cross-attention; the pattern of its self-attention is left out.

        With `decoder.state(batch)`, a decoding step is `decoder(tokens, encoded, state)`.
        """
        return replace(self.encoder(source), pattern=None)


def drop_rates(depth: int, drop_path: float) -> list[float]:
    """Give each block's probability to be skipped, growing linearly from 0.

    Raises:
        ConfigError: If there is no block, or the last probability is not one.
    """
    if depth < 1:
        raise ConfigError(f"depth={depth}: a stack has at least one block")
    if not 0 <= drop_path < 1:
        raise ConfigError(f"drop_path={drop_path} is not in [0, 1)")
    return [drop_path * i / max(depth - 1, 1) for i in range(depth)]


def last_norm(block: type[Block], dim: int, eps: float) -> nn.Module:
    """Make the norm behind the last block, which only blocks that norm first need."""
    return nn.LayerNorm(dim, eps=eps) if issubclass(block, PreNormBlock) else nn.Identity()


def check_causal(pattern: Pattern) -> None:
    """Check that a pattern is causal, as far as can be told.

    Raises:
        ConfigError: If one does.
    """
    cover = canonical(pattern).cover()
    if canonical(pattern) == Full() or (cover.right is not None and cover.right > 0):
        raise ConfigError(f"{pattern!r} reads ahead, so steps cannot agree with the whole: join it with Causal()")
