"""`Attention`: multi-head attention on `Tokens`: self-attention, cross-attention, and decoding step by step."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.linear_state import LinearAttentionState
from zoo.core.cache.ring import state_for
from zoo.core.cache.state import KeyValues, State
from zoo.core.cache.static import Static
from zoo.core.engine.dispatch import attend
from zoo.core.engine.edge_weights import edge_weights
from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.linear import Linear
from zoo.core.ops.products import multiply
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import by_offset, canonical
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.scoring.bias import Bias
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.normalizers import Kernel, Norm
from zoo.core.scoring.scores import General, Score
from zoo.core.streaming.attention_stage import AttentionStream
from zoo.core.streaming.stages import Stream
from zoo.core.streaming.state_stage import StateStage
from zoo.core.tokens import Tokens, check_consecutive, tokens_of


class AttentionInputs(NamedTuple):
    """The first arguments of `attend`, in its order; see there."""

    q: Float[Tensor, "b q h d"]
    k: Float[Tensor, "b k g d"]
    v: Float[Tensor, "b k g e"]
    pattern: Pattern
    keys: Keys | None
    bias: Bias | None
    start: int | Int[Tensor, " b"] = 0
    positions: Int[Tensor, "b k"] | None = None
    whole: bool = True

    def attend(self, **options: Any) -> Any:
        """Call `attend` with these and further arguments."""
        q, k, v, pattern, keys, bias, start, positions, whole = self
        return attend(q, k, v, pattern, keys, bias, q_start=start, k_positions=positions, whole=whole, **options)


class Attention(nn.Module):
    """Multi-head attention, arXiv:1706.03762 sec. 3.2.2; queries, keys and values come from one fused product.

    It is an `AttentionLayer`. Another attention is this one with other parts, or a layer of its own on that protocol; a
    subclass with a `forward` of its own has to have a `stream` of its own, too.

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
        score: `scaled_dot`, `dot`, or a score with parameters: a `Score`, or a module that gives one.
        norm: how scores become weights: `softmax`, `Kernel` (linear attention, arXiv:2006.16236) or `Hard`.
        q_norm: applied to the queries, head by head; none if None.
        k_norm: applied to the keys, head by head; none if None.

    Raises:
        ConfigError: If `dim` is not a multiple of `num_heads` and no `head_dim` is given, `num_heads` is not a
            multiple of `kv_heads`, or a `Kernel` is given dropout, a score or a bias, for which it has no scores.
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
        position: AttentionPosition | None = None,
        score: str | Score | nn.Module = "scaled_dot",
        norm: Norm = "softmax",
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and (num_heads < 1 or dim % num_heads):
            raise ConfigError(f"dim={dim} is not a multiple of num_heads={num_heads}")
        kv_heads = num_heads if kv_heads is None else kv_heads
        if kv_heads < 1 or num_heads % kv_heads:
            raise ConfigError(f"num_heads={num_heads} is not a multiple of kv_heads={kv_heads}")
        if isinstance(norm, Kernel) and (dropout or score != "scaled_dot"):
            given = f"dropout={dropout}" if dropout else f"score={score!r}"
            raise ConfigError(f"{given} for norm={norm!r}: linear attention makes no scores and no weights to drop")
        self.num_heads = num_heads
        self.kv_heads = kv_heads
        self.head_dim = head_dim or dim // num_heads
        self.value_dim = value_dim or self.head_dim
        self.inner = num_heads * self.head_dim
        self.dropout = dropout
        self.pattern = pattern
        self.qkv = Linear(dim, self.inner + kv_heads * (self.head_dim + self.value_dim), bias=bias)
        self.out = Linear(num_heads * self.value_dim, dim, bias=bias)
        self.score = score
        self.norm = norm
        self.q_norm = q_norm
        self.k_norm = k_norm
        self.position: AttentionPosition | None = None
        if position is not None:
            self.set_position(lambda sizes: position, f"position={position}")

    def projection(self, part: str) -> tuple[nn.Linear, int, int]:
        """Give the linear layer of `q`, `k`, `v` or `o`, and the rows of its weight that make them, from and before.

        Raises:
            ConfigError: If there is no such projection.
        """
        keys = self.inner + self.kv_heads * self.head_dim
        known = {
            "q": (self.qkv, 0, self.inner),
            "k": (self.qkv, self.inner, keys),
            "v": (self.qkv, keys, self.qkv.out_features),
            "o": (self.out, 0, self.out.out_features),
        }
        if part not in known:
            raise ConfigError(f"{part!r} is not one of the projections {', '.join(known)}")
        return known[part]

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Attend from each of the tokens to the tokens, or to the context; that of the two says what may be read.

        Args:
            tokens: the queries.
            context: keys and values; the tokens themselves if None.
            state: what was read before and is read again. A `Static` one keeps the context, which is needed the first
                time only; any other is given the tokens, and they read what it keeps.
        """
        if isinstance(state, LinearAttentionState):
            return self.out(self._step(tokens, state).flatten(2))
        dropout = self.dropout if self.training else 0.0
        y = self.inputs(tokens, context, state).attend(score=self.make_score(), dropout=dropout, norm=self.norm)
        return self.out(y.flatten(2))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h q k"]:
        """Give the weights that `forward` uses in evaluation; rows sum to 1, or to 0 with nothing to read.

        The state stays as it is.

        Raises:
            ConfigError: If the state keeps sums of keys, and not the keys.
        """
        if isinstance(state, LinearAttentionState):
            raise ConfigError("the state of linear attention keeps sums of keys, so each key's weight is not known")
        inputs = self.inputs(tokens, context, deepcopy(state))
        return inputs.attend(score=self.make_score(), norm=self.norm, return_weights=True)[1]

    def by_edge(self, tokens: Tokens) -> tuple[Float[Tensor, "e h"], Edges] | None:
        """Give the weight of each edge of the graph that the tokens carry, and the graph.

        None if they carry none, or edges alone do not decide the weights: a bias by position is one of pairs of tokens.
        """
        graph = canonical(self.restrict(tokens))
        if not isinstance(graph, Edges) or len(tokens.x) != 1 or self.norm != "softmax":
            return None
        q, k, _, _, keys, bias, *_ = self.inputs(tokens, None, None)
        if bias is not None and not isinstance(bias, EdgeBias):
            return None
        return edge_weights(q, k, graph, keys, bias, self.make_score())[0], graph

    def inputs(self, tokens: Tokens, context: Tokens | None, state: State | None) -> AttentionInputs:
        """Make queries, keys and values, and say which key each query may read; a state is given the tokens."""
        tokens_of(tokens)
        bias = None if self.position is None else self.position.bias_of(context or tokens)
        if isinstance(state, Static):
            return self._of_static(tokens, context, state, bias)
        if isinstance(state, KeyValues):
            return self._of_cache(tokens, state, bias)
        if state is not None:
            raise InputError(f"a {type(state).__name__} given to an attention that keeps keys and values: see `state`")
        q, k, v = self.project(tokens, context)
        source = context or tokens
        pattern = self.restrict(source)
        if self.position is not None and context is None:
            q, k = self.position.turn(tokens.positions, q, k)
        elif self.position is not None:
            (q,), (k,) = self.position.turn(tokens.positions, q), self.position.turn(source.positions, k)
        nowhere = tokens.position is None and source.position is None
        if nowhere or (bias is None and pattern == Full()):
            return AttentionInputs(q, k, v, pattern, source.keys, bias)
        if context is None and by_offset(pattern):  # counting is as good, and backends know more of it
            check_consecutive(tokens)
            return AttentionInputs(q, k, v, pattern, source.keys, bias)
        positions = None if source.position is None else source.positions.expand(k.shape[0], -1)
        return AttentionInputs(q, k, v, pattern, source.keys, bias, tokens.start(), positions)

    def _of_cache(self, tokens: Tokens, state: KeyValues, bias: Bias | None) -> AttentionInputs:
        """Append the tokens to what is read."""
        start = state.next if tokens.position is None else tokens.start()
        q, k, v = self._placed(tokens, state)
        read = state.append(k, v, tokens.valid(), tokens.position)
        pattern = self.restrict(tokens)
        last = tokens.x.shape[1] == 1 and read.positions is None
        if last and bias is None and canonical(pattern) == Causal():  # one query after all cached keys attends to all
            return AttentionInputs(q, read.k, read.v, Full(), read.keys, None, whole=False)
        return AttentionInputs(q, read.k, read.v, pattern, read.keys, bias, start, read.positions, whole=False)

    def _step(self, tokens: Tokens, state: LinearAttentionState) -> Float[Tensor, "b n h e"]:
        """Append the tokens to the sums, which each reads up to its own place."""
        tokens_of(tokens)
        pattern = self.restrict(tokens)
        if canonical(pattern) != Causal():
            raise ConfigError(f"{pattern!r} with a state of linear attention, whose sums are read by Causal() only")
        return state.step(*self._placed(tokens, state), tokens.valid(), tokens.position)

    def _placed(self, tokens: Tokens, state: State) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values of tokens that follow on what a state keeps."""
        if isinstance(tokens.keys, Segments):
            raise InputError("packed sets are decoded without a state: it keeps one set for each row")
        q, k, v = self.project(tokens, None)
        if self.position is not None:
            q, k = self.position.turn(state.placed(tokens.x.shape[1], tokens.position, tokens.x.device), q, k)
        return q, k, v

    def _of_static(self, tokens: Tokens, context: Tokens | None, state: Static, bias: Bias | None) -> AttentionInputs:
        """Read the context that is cached, or cache it."""
        if state.filled:
            q, read = self.queries(tokens), state.read()
        elif context is None:
            raise InputError("a static state is empty: give the context with the first tokens")
        else:
            q, k, v = self.project(tokens, context)
            if self.position is not None:
                (k,) = self.position.turn(context.positions, k)
            read, state.pattern = state.append(k, v, context.valid(), context.position), context.pattern
        if self.position is not None:
            (q,) = self.position.turn(tokens.positions, q)
        pattern = self.pattern if state.pattern is None else state.pattern & self.pattern
        start = 0 if bias is None and pattern == Full() else tokens.start()
        return AttentionInputs(q, read.k, read.v, pattern, read.keys, bias, start, read.positions, whole=False)

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Make an empty state for decoding step by step: two sums for causal linear attention, else `state_for`.

        Args:
            batch: rows.
            pattern: what the tokens will say.
            capacity: tokens to make room for at first.
            spare: tokens that may be cropped again, where only a window is kept.
        """
        pattern = pattern & self.pattern
        if isinstance(self.norm, Kernel) and canonical(pattern) == Causal():
            return LinearAttentionState(self.norm, batch)
        return state_for(pattern, batch, capacity=capacity, spare=spare)

    def stream(self, pattern: Pattern | None = None) -> Stream:
        """Give the stage that answers while vectors come.

        Args:
            pattern: what the tokens will say.

        Raises:
            ConfigError: If a vector may read without bound, and what it reads has no constant size; or a subclass has a
                `forward` of its own, and no `stream`.
        """
        pattern = self.pattern if pattern is None else pattern & self.pattern
        if isinstance(self.norm, Kernel) and canonical(pattern) == Causal():
            return StateStage(self, pattern)
        if type(self).forward is not Attention.forward:
            raise ConfigError(f"{type(self).__name__} changes forward, so a stage of Attention would not do the same")
        return AttentionStream(self, pattern)

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        """Take a position encoding inside attention.

        Args:
            make: makes it for the sizes of the heads.
            wanted: what the caller wrote, such as `position='alibi'`, for the text of an error.

        Raises:
            ConfigError: If there is one already, or it adds to scores that this attention does not make.
        """
        if self.position is not None:
            raise ConfigError(f"{wanted} for an attention that has {self.position} already")
        position = make(HeadSizes(self.qkv.in_features, self.num_heads, self.head_dim, self.value_dim))
        if position.acts_on != "vectors" and isinstance(self.norm, Kernel):
            raise ConfigError(
                f"{wanted} adds to scores, and linear attention (norm={self.norm!r}) makes none: rotary, or positions "
                "added to the tokens, go with it"
            )
        if position.acts_on == "products" and not isinstance(self.make_score(), str | General):
            raise ConfigError(
                f"{wanted} acts on the product of query and key, and score={type(self.make_score()).__name__} is no "
                "product: relative and alibi add a number to any score"
            )
        self.position = position

    def packs(self) -> bool:
        """Tell whether sets packed in one row (`Segments`) are kept apart at no cost: by offsets, with a softmax."""
        return by_offset(self.pattern) and not isinstance(self.norm, Kernel)

    def restrict(self, source: Tokens) -> Pattern:
        """Join what the tokens allow and what this layer allows."""
        return self.pattern if source.pattern is None else source.pattern & self.pattern

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (batch, length, heads, channels of a head)."""
        groups = [self.kv_heads * self.head_dim, self.kv_heads * self.value_dim]
        if context is None:
            self._check(tokens)
            y = self.qkv(tokens.x)
            if self.value_dim == self.head_dim:  # two operations, and not five: a step of decoding notices
                heads = [self.num_heads, self.kv_heads, self.kv_heads]
                q, k, v = y.view(*y.shape[:-1], sum(heads), self.head_dim).split_with_sizes(heads, -2)
                return normed(self.q_norm, q), normed(self.k_norm, k), v
            q, k, v = y.split([self.inner, *groups], dim=-1)
            return normed(self.q_norm, q.unflatten(-1, (self.num_heads, -1))), *self._in_groups(k, v)
        self._check(context)
        w, b = self.qkv.weight[self.inner :], None if self.qkv.bias is None else self.qkv.bias[self.inner :]
        k, v = multiply(context.x, w, b).split(groups, dim=-1)
        return self.queries(tokens), *self._in_groups(k, v)

    def _in_groups(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return normed(self.k_norm, k.unflatten(-1, (self.kv_heads, -1))), v.unflatten(-1, (self.kv_heads, -1))

    def queries(self, tokens: Tokens) -> Float[Tensor, "b n h d"]:
        """Make queries alone."""
        self._check(tokens)
        w, b = self.qkv.weight[: self.inner], None if self.qkv.bias is None else self.qkv.bias[: self.inner]
        return normed(self.q_norm, multiply(tokens.x, w, b).unflatten(-1, (self.num_heads, -1)))

    def make_score(self) -> str | Score:
        """Give the score as `attend` takes it."""
        return self.score() if isinstance(self.score, nn.Module) else self.score

    def _check(self, tokens: Tokens) -> None:
        if tokens.x.shape[-1] != self.qkv.in_features:
            raise InputError(
                f"vectors of {tokens.x.shape[-1]} channels given to an attention of dim={self.qkv.in_features}"
            )

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        shared = "" if self.kv_heads == self.num_heads else f", kv_heads={self.kv_heads}"
        wide = "" if self.value_dim == self.head_dim else f", head_dim={self.head_dim}, value_dim={self.value_dim}"
        norm = "" if self.norm == "softmax" else f", norm={self.norm}"
        score = "" if self.score == "scaled_dot" or isinstance(self.score, nn.Module) else f", score={self.score}"
        return f"num_heads={self.num_heads}{shared}{wide}, pattern={self.pattern}{score}{norm}"


def normed(norm: nn.Module | None, x: Float[Tensor, "b n h d"]) -> Float[Tensor, "b n h d"]:
    """Norm each head, in its own dtype again: autocast norms in float32."""
    return x if norm is None else norm(x).to(x.dtype)
