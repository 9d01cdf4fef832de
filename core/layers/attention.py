"""`Attention`: projections into heads, `attend`, and back; self-attention, cross-attention, and both with a state."""

from copy import deepcopy
from typing import Any, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.ring import state_for
from zoo.core.cache.state import State
from zoo.core.cache.static import Static
from zoo.core.engine.dispatch import attend
from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.linear import Linear, multiply
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import by_offset, normal
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import InnerPosition
from zoo.core.scoring.bias import Bias
from zoo.core.streaming.attention_stage import Listening
from zoo.core.tokens import Tokens, check_consecutive, tokens_of


class Question(NamedTuple):
    """What `attend` is asked, in the order of its arguments; see there."""

    q: Float[Tensor, "b q h d"]
    k: Float[Tensor, "b k g d"]
    v: Float[Tensor, "b k g e"]
    pattern: Pattern
    keys: Keys | None
    bias: Bias | None
    start: int | Int[Tensor, " b"] = 0
    positions: Int[Tensor, "b k"] | None = None
    whole: bool = True

    def answer(self, **options: Any) -> Any:
        """Ask."""
        q, k, v, pattern, keys, bias, start, positions, whole = self
        return attend(q, k, v, pattern, keys, bias, q_start=start, k_positions=positions, whole=whole, **options)


class Attention(nn.Module):
    """Multi-head attention, arXiv:1706.03762 sec. 3.2.2; queries, keys and values come from one fused product.

    Args:
        dim: channels in and out.
        num_heads: heads of the queries.
        head_dim: channels of a head of queries and keys (d_k); `dim / num_heads` if None.
        value_dim: channels of a head of values (d_v); `head_dim` if None.
        kv_heads: heads of keys and values, which groups of query heads share (arXiv:2305.13245); `num_heads` if None.
        bias: whether the projections add a bias.
        dropout: probability that a weight is dropped in training, in [0, 1).
        pattern: who may read whom, on top of what the tokens say.
        position: what positions do to queries, keys and scores; None for nothing.

    Raises:
        ConfigError: If `dim` is not a multiple of `num_heads` and no `head_dim` is given, or `num_heads` is not a
            multiple of `kv_heads`.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        value_dim: int | None = None,
        kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        pattern: Pattern = Full(),
        position: InnerPosition | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and (num_heads < 1 or dim % num_heads):
            raise ConfigError(f"dim={dim} is not a multiple of num_heads={num_heads}")
        kv_heads = num_heads if kv_heads is None else kv_heads
        if kv_heads < 1 or num_heads % kv_heads:
            raise ConfigError(f"num_heads={num_heads} is not a multiple of kv_heads={kv_heads}")
        self.num_heads = num_heads
        self.kv_heads = kv_heads
        self.head_dim = head_dim or dim // num_heads
        self.value_dim = value_dim or self.head_dim
        self.inner = num_heads * self.head_dim
        self.dropout = dropout
        self.pattern = pattern
        self.qkv = Linear(dim, self.inner + kv_heads * (self.head_dim + self.value_dim), bias=bias)
        self.out = Linear(num_heads * self.value_dim, dim, bias=bias)
        self.position = position

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Let each of the tokens read the tokens, or the context if there is one; the context says what may be read.

        Args:
            tokens: they ask.
            context: they are read; the tokens themselves if None.
            state: what was read before and is read again. A `Static` one keeps the context, which is needed the first
                time only; any other is given the tokens, and they read what it keeps.
        """
        y = self.ask(tokens, context, state).answer(dropout=self.dropout if self.training else 0.0)
        return self.out(y.flatten(2))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h q k"]:
        """Give the weights that `forward` uses in evaluation; rows sum to 1, or to 0 with nothing to read.

        The state stays as it is.
        """
        return self.ask(tokens, context, deepcopy(state)).answer(return_weights=True)[1]

    def ask(self, tokens: Tokens, context: Tokens | None, state: State | None) -> Question:
        """Make the queries, what they read, and who may read what."""
        tokens_of(tokens)
        bias = None if self.position is None else self.position.bias_of(context or tokens)
        if isinstance(state, Static):
            return self._ask_static(tokens, context, state, bias)
        if state is not None:
            return self._ask_state(tokens, state, bias)
        q, k, v = self.project(tokens, context)
        source = context or tokens
        pattern = self.restrict(source)
        if self.position is not None and context is None:
            q, k = self.position.turn(tokens.positions, q, k)
        elif self.position is not None:
            (q,), (k,) = self.position.turn(tokens.positions, q), self.position.turn(source.positions, k)
        nowhere = tokens.position is None and source.position is None
        if nowhere or (bias is None and pattern == Full()):
            return Question(q, k, v, pattern, source.keys, bias)
        if context is None and by_offset(pattern):  # counting is as good, and backends know more of it
            check_consecutive(tokens)
            return Question(q, k, v, pattern, source.keys, bias)
        positions = None if source.position is None else source.positions.expand(len(k), -1)
        return Question(q, k, v, pattern, source.keys, bias, tokens.start(), positions)

    def _ask_state(self, tokens: Tokens, state: State, bias: Bias | None) -> Question:
        """Append the tokens to what is read."""
        if isinstance(tokens.keys, Segments):
            raise InputError("packed sets are decoded without a state: it keeps one set for each row")
        start = state.next if tokens.position is None else tokens.start()
        q, k, v = self.project(tokens, None)
        if self.position is not None:
            q, k = self.position.turn(state.placed(tokens.x.shape[1], tokens.position, tokens.x.device), q, k)
        read = state.append(k, v, tokens.there(), tokens.position)
        pattern = self.restrict(tokens)
        last = tokens.x.shape[1] == 1 and read.positions is None
        if last and bias is None and normal(pattern) == Causal():  # one query behind all that is kept reads all of it
            return Question(q, read.k, read.v, Full(), read.keys, None, whole=False)
        return Question(q, read.k, read.v, pattern, read.keys, bias, start, read.positions, whole=False)

    def _ask_static(self, tokens: Tokens, context: Tokens | None, state: Static, bias: Bias | None) -> Question:
        """Read the context that is kept, or keep it."""
        if state.filled:
            q, read = self.queries(tokens), state.read()
        elif context is None:
            raise InputError("a static state is empty: give the context with the first tokens")
        else:
            q, k, v = self.project(tokens, context)
            if self.position is not None:
                (k,) = self.position.turn(context.positions, k)
            read, state.pattern = state.append(k, v, context.there(), context.position), context.pattern
        if self.position is not None:
            (q,) = self.position.turn(tokens.positions, q)
        pattern = self.pattern if state.pattern is None else state.pattern & self.pattern
        start = 0 if bias is None and pattern == Full() else tokens.start()
        return Question(q, read.k, read.v, pattern, read.keys, bias, start, read.positions, whole=False)

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Make an empty state for reading step by step; see `state_for`.

        Args:
            batch: rows.
            pattern: what the tokens will say.
            capacity: tokens to make room for at first.
            spare: tokens that may be cropped again, where only a window is kept.
        """
        return state_for(pattern & self.pattern, batch, capacity=capacity, spare=spare)

    def stream(self, pattern: Pattern | None = None) -> Listening:
        """Give the stage that answers while vectors come; see `Listening`.

        Args:
            pattern: what the tokens will say.

        Raises:
            ConfigError: If a vector may read without bound, or this attention asks in a way of its own.
        """
        if type(self).ask is not Attention.ask or type(self).forward is not Attention.forward:
            raise ConfigError(
                f"{type(self).__name__} reads its input whole: no model with it answers while input comes"
            )
        return Listening(self, self.pattern if pattern is None else pattern & self.pattern)

    def restrict(self, source: Tokens) -> Pattern:
        """Join what the tokens allow and what this layer allows."""
        return self.pattern if source.pattern is None else source.pattern & self.pattern

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (batch, length, heads, channels of a head)."""
        groups = [self.kv_heads * self.head_dim, self.kv_heads * self.value_dim]
        if context is None:
            self._check(tokens)
            q, k, v = self.qkv(tokens.x).split([self.inner, *groups], dim=-1)
            return q.unflatten(-1, (self.num_heads, -1)), *self._in_groups(k, v)
        self._check(context)
        w, b = self.qkv.weight[self.inner :], None if self.qkv.bias is None else self.qkv.bias[self.inner :]
        k, v = multiply(context.x, w, b).split(groups, dim=-1)
        return Attention.queries(self, tokens), *self._in_groups(k, v)

    def _in_groups(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return k.unflatten(-1, (self.kv_heads, -1)), v.unflatten(-1, (self.kv_heads, -1))

    def queries(self, tokens: Tokens) -> Float[Tensor, "b n h d"]:
        """Make queries alone."""
        self._check(tokens)
        w, b = self.qkv.weight[: self.inner], None if self.qkv.bias is None else self.qkv.bias[: self.inner]
        return multiply(tokens.x, w, b).unflatten(-1, (self.num_heads, -1))

    def _check(self, tokens: Tokens) -> None:
        if tokens.x.shape[-1] != self.qkv.in_features:
            raise InputError(
                f"vectors of {tokens.x.shape[-1]} channels given to an attention of dim={self.qkv.in_features}"
            )

    def extra_repr(self) -> str:
        """Show what the parameters do not."""
        shared = "" if self.kv_heads == self.num_heads else f", kv_heads={self.kv_heads}"
        wide = "" if self.value_dim == self.head_dim else f", head_dim={self.head_dim}, value_dim={self.value_dim}"
        return f"num_heads={self.num_heads}{shared}{wide}, pattern={self.pattern}"
