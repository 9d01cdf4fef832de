"""Performer: softmax attention estimated by random features, in time linear in the length (arXiv:2009.14794).

Axes: b rows, n places, h heads, f features, d and e channels of a head, c values and the normaliser.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.cache.fixed import FixedState
from zoo.core.cache.state import State
from zoo.core.errors import ConfigError, InputError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.random_features import (
    CHUNK,
    NOTHING,
    all_sums,
    orthogonal_rows,
    positive_features,
    running_sums,
)
from zoo.core.mechanisms.efficient.self_attention import ProjectedAttention, whole_number
from zoo.core.ops.autocast import autocast_off
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.padding import Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.normalizers import divided, upcast
from zoo.core.streaming.stages import Stream
from zoo.core.streaming.state_stage import StateStage
from zoo.core.tokens import Tokens

BLOCK = 1024
"""Places whose features are made at once in causal attention: what they pass through stays in the cache."""


class PerformerState(FixedState):
    """Keep the sums of phi(k) vᵀ and of phi(k), and the greatest logarithm of a key's scale, for each row and head.

    Args:
        batch: rows.
    """


class Performer(ProjectedAttention):
    """Attention by M positive orthogonal random features in place of exp(q·k), FAVOR+.

    The directions are drawn once, at construction, and are saved with the weights: an answer does not change between
    calls. The error falls with the root of M and grows with exp(|q|²), so it is small only where scores are.
    Causally, the published code divides by the greatest feature of all keys, later ones too; here that is a running
    maximum, part of the state (see `running_sums`).

    Args:
        dim: channels in and out.
        num_heads: heads.
        features: random features (M).
        options: as for `SelfAttention`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=True, streams=True, weights=True
    )
    directions: Tensor

    def __init__(self, dim: int, num_heads: int, *, features: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.register_buffer("directions", orthogonal_rows(features, self.head_dim))

    def mix(
        self, parts: tuple[Float[Tensor, "b _ n _"], ...], valid: Bool[Tensor, "b n"], causal: bool
    ) -> Float[Tensor, "b h n e"]:
        if not causal:
            return divided(all_sums(*self._features(parts, valid)))
        answers, kept = [], self._empty(parts[-1])
        for *block, there in zip(*(x.split(BLOCK, 2) for x in parts), valid.split(BLOCK, 1), strict=True):
            answer, *kept = running_sums(*self._features(tuple(block), there), *kept)
            answers.append(answer)
        return divided(torch.cat(answers, 2))

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Mix the tokens; with a state, each reads what that has kept, too.

        Raises:
            ConfigError: If the tokens' pattern cannot be followed, or a context is given.
            InputError: If packed sets are given with a state, or a state of another batch.
        """
        if not isinstance(state, PerformerState) or context is not None:
            return super().forward(tokens, context, state)
        if isinstance(tokens.keys, Segments):
            raise InputError("packed sets are decoded without a state: it keeps one set for each row")
        self.check_pattern(Full() if tokens.pattern is None else tokens.pattern)
        state.check(tokens.x)
        n, valid, device = tokens.x.shape[1], tokens.valid(), tokens.x.device
        parts = self.heads(tokens, state.placed(n, tokens.position, device))
        state.count(n, valid, tokens.position, device)
        if not n:
            return self.out(parts[-1].flatten(2))
        with autocast_off(device):
            y = self._step(tuple(upcast(x).transpose(1, 2) for x in parts), valid, state)
        return self.out(y.transpose(1, 2).to(tokens.x.dtype).flatten(2))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h q k"]:
        """See `SelfAttention.weights`.

        Raises:
            ConfigError: If a state is given, which keeps sums of keys, and not the keys.
        """
        if state is not None:
            raise ConfigError("the state of a Performer keeps sums of keys, so each key's weight is not known")
        return super().weights(tokens, context, state)

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Make an empty state of constant size for decoding step by step.

        Raises:
            ConfigError: If the tokens' pattern is not causal.
        """
        self._check_causal(pattern)
        return PerformerState(batch)

    def stream(self, pattern: Pattern | None = None) -> Stream:
        """Give the stage that answers while vectors come.

        Raises:
            ConfigError: If the tokens' pattern is not causal.
        """
        self._check_causal(pattern or Full())
        return StateStage(self, Causal())

    def cost(self, length: int) -> Cost:
        f, d, c = len(self.directions), self.head_dim, self.value_dim + 1
        pairs = min(length, CHUNK) * (f + c)
        return Cost(self.num_heads * length * (2 * f * d + 2 * f * c + pairs), self.num_heads * length * 2 * (f + c))

    def _check_causal(self, pattern: Pattern) -> None:
        self.check_pattern(pattern)
        if canonical(pattern) != Causal():
            raise ConfigError(
                f"{pattern!r}: a Performer answers step by step where it is causal: join it with Causal()"
            )

    def _features(self, parts: tuple[Tensor, ...], valid: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = parts
        root = self.head_dim**-0.25
        directions = self.directions.to(q.dtype)
        q = positive_features(q * root, directions)[0]
        if valid is not None:  # what padding holds must not reach a maximum
            k, v = (x.masked_fill(~valid[:, None, :, None], 0) for x in (k, v))
        k, scale = positive_features(k * root, directions)
        if valid is not None:
            scale = scale.masked_fill(~valid[:, None], -torch.inf)
        return q, k, scale, pad(v, (0, 1), value=1.0)

    def _empty(self, v: Tensor) -> list[Tensor]:
        sums = v.new_zeros(v.shape[0], self.num_heads, len(self.directions), v.shape[-1] + 1)
        return [sums, v.new_full((v.shape[0], self.num_heads, 1), NOTHING)]

    def _step(self, parts: tuple[Tensor, ...], valid: Tensor | None, state: State) -> Tensor:
        kept = list(state.tensors.values()) or self._empty(parts[-1])
        y, *kept = running_sums(*self._features(parts, valid), *kept)
        state.tensors = dict(zip(("sums", "peak"), kept, strict=True))
        return divided(y)


def performer(features: str) -> Callable[..., Performer]:
    """Make what builds a `Performer`, for `attention="performer:M"`."""
    return partial(Performer, features=whole_number(features, "M"))
