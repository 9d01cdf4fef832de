"""`SelfAttention`, the base of efficient attention: heads that mix the values of one set by other means than `attend`.

A subclass projects vectors to heads and mixes the values; padding, packing, positions, weights and what is refused are
the same for all.
Axes: b rows, n places, r rows and m places of the sets (see `Rows`), h heads, d and e channels of a head.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from zoo.core.cache.state import State
from zoo.core.errors import ConfigError, InputError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.rows import Rows
from zoo.core.ops.autocast import autocast_off
from zoo.core.ops.linear import Linear
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.streaming.stages import Stream
from zoo.core.tokens import Tokens, tokens_of


class SelfAttention(nn.Module, ABC):
    """Mix the vectors of a set; an `AttentionLayer` and a `Mechanism`.

    Args:
        dim: channels in and out.
        num_heads: heads.
        head_dim: channels of a head of queries and keys; `dim / num_heads` if None.
        value_dim: channels of a head of values; `head_dim` if None.

    Raises:
        ConfigError: If `dim` is not a multiple of `num_heads` and no `head_dim` is given.
    """

    abilities: ClassVar[Abilities]
    not_causal: ClassVar[str] = ""
    """Why no decoder can use it, in a sentence that goes on from its name; empty where one can."""
    turned: ClassVar[int] = 2
    """How many of the first parts that `project` gives are queries and keys, which positions may turn."""

    def __init__(self, dim: int, num_heads: int, *, head_dim: int | None = None, value_dim: int | None = None) -> None:
        super().__init__()
        if head_dim is None and (num_heads < 1 or dim % num_heads):
            raise ConfigError(f"dim={dim} is not a multiple of num_heads={num_heads}")
        self.dim, self.num_heads = dim, num_heads
        self.head_dim = head_dim or dim // num_heads
        self.value_dim = value_dim or self.head_dim
        self.pattern: Pattern = Full()
        self.position: AttentionPosition | None = None
        self.out = Linear(num_heads * self.value_dim, dim)

    @abstractmethod
    def project(self, x: Float[Tensor, "b n dim"]) -> tuple[Float[Tensor, "b n _ _"], ...]:
        """Make what is mixed, by head: queries and keys first where there are some, the values last."""

    @abstractmethod
    def mix(
        self, parts: tuple[Float[Tensor, "r _ m _"], ...], valid: Bool[Tensor, "r m"], causal: bool
    ) -> Float[Tensor, "r h m e"]:
        """Mix the values, in which the answer is linear.

        Args:
            parts: what `project` gave; each set in a row of its own, from its first place on, and 0 behind it.
            valid: which places are taken.
            causal: whether a place reads itself and those before it only.
        """

    @abstractmethod
    def cost(self, length: int) -> Cost:
        """Count what a row of this length takes, read by itself."""

    def split(self, y: Float[Tensor, "b n inner"], *sizes: int) -> tuple[Float[Tensor, "b n h _"], ...]:
        """Split the answer of one fused product into parts of these channels a head."""
        heads = self.num_heads
        return tuple(x.unflatten(-1, (heads, -1)) for x in y.split([heads * size for size in sizes], dim=-1))

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Mix the tokens.

        Raises:
            ConfigError: If the tokens' pattern cannot be followed, or a context or a state is given.
        """
        parts = self._parts(tokens, context, state)
        return self.out(self._mixed(tokens, parts).flatten(2))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h q k"]:
        """Give the matrix that `forward` multiplies the values with; its rows need not sum to 1."""
        parts = self._parts(tokens, context, state)
        v = parts[-1]
        basis = torch.eye(v.shape[1], dtype=v.dtype, device=v.device)[None, :, None].expand(*v.shape[:3], -1)
        return self._mixed(tokens, (*parts[:-1], basis)).transpose(1, 2)

    def check_pattern(self, pattern: Pattern) -> None:
        """Refuse a pattern that this layer cannot follow.

        Raises:
            ConfigError: If it is neither `Full()` nor, where the layer can be causal, `Causal()`.
        """
        name, known = type(self).__name__, canonical(pattern)
        if known == Causal() and self.not_causal:
            raise ConfigError(f"{name} cannot be causal: it {self.not_causal}")
        if known not in (Full(), Causal()):
            allowed = "Full()" if self.not_causal else "Full() or Causal()"
            raise ConfigError(f"{pattern!r} for {name}, which reads by its own rule: leave the pattern at {allowed}")

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Refuse: what a step reads has no constant size here, so `generate` reads the whole prefix again.

        Raises:
            ConfigError: Always.
        """
        self.check_pattern(pattern)
        raise ConfigError(f"{type(self).__name__} keeps no state: each step reads all tokens again")

    def stream(self, pattern: Pattern | None = None) -> Stream:
        """Refuse to answer while vectors come.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"{type(self).__name__} reads its input whole: no model with it answers while input comes")

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        """Take a position encoding that turns queries and keys.

        Raises:
            ConfigError: If it adds to scores, or there are no queries and keys of single places to turn.
        """
        position = make(HeadSizes(self.dim, self.num_heads, self.head_dim, self.value_dim))
        name, turns = type(self).__name__, position.acts_on == "vectors"
        if not (turns and self.turned):
            why = "has no query and key of each place to turn" if turns else "makes no scores of all pairs to add to"
            raise ConfigError(f"{wanted} for {name}, which {why}: positions added to the tokens go with it")
        self.position = position

    def packs(self) -> bool:
        """Tell that packed sets are unpacked again, so that packing saves nothing."""
        return False

    def _parts(self, tokens: Tokens, context: Tokens | None, state: State | None) -> tuple[Tensor, ...]:
        """Check the arguments, and make what is mixed."""
        tokens_of(tokens)
        if context is not None or state is not None:
            raise ConfigError(f"{type(self).__name__} reads its own tokens, all at once: give no context and no state")
        if tokens.pattern is not None:
            self.check_pattern(tokens.pattern)
        return self.heads(tokens, tokens.positions)

    def heads(self, tokens: Tokens, positions: Tensor) -> tuple[Float[Tensor, "b n _ _"], ...]:
        """Project tokens that stand at these positions.

        Raises:
            InputError: If they have another number of channels than this layer.
        """
        if tokens.x.shape[-1] != self.dim:
            raise InputError(f"vectors of {tokens.x.shape[-1]} channels given to an attention of dim={self.dim}")
        parts = self.project(tokens.x)
        if self.position is None:
            return parts
        return *self.position.turn(positions, *parts[: self.turned]), *parts[self.turned :]

    def _mixed(self, tokens: Tokens, parts: tuple[Tensor, ...]) -> Float[Tensor, "b n h e"]:
        v = parts[-1]
        if not v.shape[0] * v.shape[1]:
            return v.new_zeros(*v.shape[:2], self.num_heads, v.shape[3])
        rows = Rows.of(tokens)
        with autocast_off(v.device):  # sums over a set need float32
            moved = tuple(rows.front(x) for x in parts)
            causal = tokens.pattern is not None and canonical(tokens.pattern) == Causal()
            return rows.back(self.mix(moved, rows.valid(moved[-1]), causal), v)


class ProjectedAttention(SelfAttention):
    """Base of those whose queries, keys and values are one product.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `SelfAttention`.
    """

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.qkv = Linear(dim, num_heads * (2 * self.head_dim + self.value_dim))

    def project(self, x: Float[Tensor, "b n dim"]) -> tuple[Float[Tensor, "b n h _"], ...]:
        return self.split(self.qkv(x), self.head_dim, self.head_dim, self.value_dim)


def whole_number(text: str, name: str, least: int = 1) -> int:
    """Read a number of `attention=NAME:...`.

    Raises:
        ConfigError: If it is none, or too small.
    """
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{name}={text!r} is no whole number from {least} on")
    return int(text)


def check_bounded(layer: nn.Module, places: int, length: int) -> None:
    """Refuse a row that is longer than those a layer was made for.

    Raises:
        InputError: If it is.
    """
    if places > length:
        raise InputError(
            f"a row of {places} for {type(layer).__name__} of length={length}, whose matrices have no place behind it: "
            "make it with a greater LENGTH"
        )
