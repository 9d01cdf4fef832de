"""Streaming attention: a query is answered as soon as the last key that it attends to has arrived.

Keys and values are kept as far back as a query reads that is still to be answered. Positions are absolute, as in the
whole; patterns and biases that know only offsets, or places in a chunk, are asked by place among what is kept.
Axes: see `zoo.core.streaming.stages`.
"""

from math import inf, lcm
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from zoo.core.engine.dispatch import attend
from zoo.core.errors import ConfigError
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.local import Chunk, Window
from zoo.core.patterns.pattern import And, Full, Or, Pattern
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.positions.relative import ProjectedOffsets
from zoo.core.scoring.relative_bias import Relative, TransformerXL
from zoo.core.streaming.stages import Stream, behind, follow
from zoo.core.tokens import Tokens

FEW = 64
"""Queries up to which PyTorch's kernel is called on all pairs, without a plan.

One thread of a server CPU, 4 heads of 36, 80 keys: 16 queries in chunks take 30 µs against 101 with `attend`, with
Transformer-XL's positions 73 against 177; 4 queries in a window 19 against 81, and 52 against 156. Forcing the dense
backend of `attend` is no faster.
"""


class AttentionStream(Stream):
    """Streaming attention over the vectors of an `Attention`, pushed piece by piece.

    Args:
        attention: an `Attention`.
        pattern: who may read whom, the attention's own pattern included.

    Raises:
        ConfigError: If the pattern does not say how far back and ahead a vector reads.
    """

    def __init__(self, attention: Any, pattern: Pattern) -> None:
        self.attention = attention
        self.pattern = canonical(pattern)
        self.left = bound(self.pattern)
        self.period = period(self.pattern)
        self.bias = None if attention.position is None else attention.position.bias()
        """Made once: what it prepares for some offsets serves every push."""
        self.turns = attention.position is not None and type(attention.position).turn is not AttentionPosition.turn
        """Whether positions turn queries and keys."""
        self.q: Tensor | None = None
        self.k: Tensor | None = None
        self.v: Tensor | None = None
        self.seen = 0
        """Vectors that came."""
        self.answered = 0
        """Position of the first query that waits."""
        self.first = 0
        """Position of the first key that is kept."""
        self.shape = 0, 0, 0
        """Queries, keys, and place of the first query, of the mask."""
        self.open: Tensor | None = None
        """Which keys they may read; with a bias 0 for these and -inf for others; None for all."""
        self.near: Relative | None = None
        """The bias, for their offsets."""

    def push(self, x: Float[Tensor, "b n d"], last: bool = False) -> Float[Tensor, "b m d"]:
        if x.shape[1]:
            self._append(x)
        count = (self.seen if last else self.ready(self.seen)) - self.answered
        if not count:
            return x[:, :0]
        assert self.q is not None
        assert self.k is not None
        assert self.v is not None
        q, start = self.q[:, :count], self.answered - self.first
        if count > FEW or not self.plain:
            parts = {"score": self.attention.make_score(), "norm": self.attention.norm}
            y = attend(q, self.k, self.v, self.pattern, None, self.bias, q_start=start, whole=False, **parts)
        else:
            y = self._attend(q, self.k, self.v, start)
        self._forget(count)
        return self.attention.out(y.flatten(2))

    def ready(self, items: int) -> int:
        return min(max(0, ready(self.pattern, items)), items)

    @property
    def stored(self) -> int:
        return sum(x.numel() for x in (self.q, self.k, self.v) if x is not None)

    @property
    def plain(self) -> bool:
        """Tell whether `weighted` computes this attention."""
        scaled = self.attention.score == "scaled_dot" and self.attention.norm == "softmax"
        return scaled and not (self.bias is not None and self.bias.adds_values)

    def projected(self, x: Float[Tensor, "b n d"], first: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Give queries, keys and values of vectors that stand at position `first` and behind it."""
        q, k, v = self.attention.project(Tokens(x), None)
        if self.turns:
            place = first + torch.arange(x.shape[1], device=x.device)[None]
            q, k = self.attention.position.turn(place, q, k)
        return q, k, v

    def _append(self, x: Tensor) -> None:
        q, k, v = self.projected(x, self.seen)
        self.q, self.k, self.v = follow(self.q, q), follow(self.k, k), follow(self.v, v)
        self.seen += x.shape[1]

    def _attend(
        self, q: Float[Tensor, "b q h d"], k: Float[Tensor, "b k g d"], v: Float[Tensor, "b k g e"], start: int
    ) -> Float[Tensor, "b q h e"]:
        """Do what `attend` does, for a few queries; chunks of equal size share their mask.

        `prepare` would change nothing: there is no padding, no graph and no score with parameters in a stream.
        """
        shape = q.shape[1], k.shape[1], start
        if shape != self.shape:
            self.shape, self.open = shape, opened(self.pattern, *shape, q.device)
            self.near = projected(self.bias, 1 - start - shape[0], shape[1] - 1 - start)
            if self.near is not None and self.open is not None:
                self.open = added(self.open, q)
        return weighted(q, k, v, start, self.open, self.near)

    def _forget(self, count: int) -> None:
        """Let go of queries that are answered, and of keys that no other reads."""
        assert self.q is not None
        assert self.k is not None
        assert self.v is not None
        self.answered += count
        first = max(0, self.answered - self.left) // self.period * self.period
        self.q = behind(self.q, count)
        self.k, self.v = behind(self.k, first - self.first), behind(self.v, first - self.first)
        self.first = first


def weighted(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    v: Float[Tensor, "b k g e"],
    start: int,
    allowed: Shaped[Tensor, "q k"] | None,
    bias: Relative | None,
) -> Float[Tensor, "b q h e"]:
    """Give what queries read, which stand at `start` among the keys.

    Args:
        q: queries.
        k: keys.
        v: values.
        start: place of the first query.
        allowed: which keys are read; with a bias as `added` gives it; None for all.
        bias: for their offsets.
    """
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    scale, mask = q.shape[3] ** -0.5, allowed
    if bias is not None:
        mask = bias.on_line(q, k.shape[2], start, scale)
        mask = mask if allowed is None else mask + allowed
        q = bias.query(q)
    y = scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    return y.transpose(1, 2)


def added(allowed: Bool[Tensor, "q k"], like: Tensor) -> Float[Tensor, "q k"]:
    """Give what is added to scores, in the type of `like`: 0 where a key may be read, -inf elsewhere."""
    return like.new_zeros(allowed.shape).masked_fill_(~allowed, -inf)


def opened(pattern: Pattern, queries: int, keys: int, start: int, device: torch.device) -> Bool[Tensor, "q k"] | None:
    """Give which keys queries that stand at `start` and behind it may read; None where that is all."""
    if canonical(pattern, queries, keys, start) == Full():
        return None
    i, j = torch.arange(start, start + queries, device=device), torch.arange(keys, device=device)
    return pattern.allows(i[:, None], j)


def projected(bias: Relative | None, lowest: int, highest: int) -> Relative | None:
    """Give a bias that has prepared what it adds for offsets from lowest to highest."""
    if not isinstance(bias, ProjectedOffsets):
        return bias
    first, r = bias.projected(lowest, highest)
    return TransformerXL(bias.u, bias.v, r, first)


def ready(pattern: Pattern, keys: int) -> int:
    """Count the queries, from the first on, that read no key behind the first so many; it may be negative."""
    if isinstance(pattern, And | Or):
        sides = ready(pattern.left, keys), ready(pattern.right, keys)
        return max(sides) if isinstance(pattern, And) else min(sides)
    if isinstance(pattern, Window):
        return keys - pattern.right * pattern.dilation
    return keys // pattern.size * pattern.size if isinstance(pattern, Chunk) else keys


def period(pattern: Pattern) -> int:
    """Give a number of positions by which queries and keys may be moved together without another answer.

    Raises:
        ConfigError: If there is none, as the pattern names positions.
    """
    if isinstance(pattern, And | Or):
        return lcm(period(pattern.left), period(pattern.right))
    if isinstance(pattern, Chunk):
        return pattern.size
    if isinstance(pattern, Window | Causal):
        return 1
    raise ConfigError(f"{pattern!r} names positions, and a stream moves on: Window and Chunk move with it")


def bound(pattern: Pattern) -> int:
    """Give how far back a query reads.

    Raises:
        ConfigError: If there is no bound, or none ahead.
    """
    cover = pattern.cover()
    if cover.left is None or cover.right is None:
        raise ConfigError(
            f"{pattern!r} lets a vector read without bound, and a stream has no end: limit it by a window, for sounds "
            "such as window=[640, 0]"
        )
    return cover.left
