"""Longformer: a window around each place, and global places with projections of their own (arXiv:2004.05150).

Axes: r rows, h heads, m places, d and e channels of a head, w values of the window and those of global places.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo.core.engine.dispatch import attend
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.self_attention import SelfAttention, whole_number
from zoo.core.ops.linear import Linear
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.local import Window
from zoo.core.patterns.padding import Valid
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.patterns.sparse import Globals


class Longformer(SelfAttention):
    """Attention to `Window(W) | Globals(...)` in which global queries read by projections of their own, sec. 3.1.

    A place reads its window and the global places by the first projections; a global place reads all places by the
    second queries, keys and values. Where both are equal this is `Attention(pattern=Window(W) | Globals(...))`. As in
    Hugging Face's code, which has the published weights, keys of global places that others read are of the first.
    Causally, a global place reads those up to itself. `weights` are of two sets of values. A decoder has no state:
    `generate` reads the prefix again.

    Args:
        dim: channels in and out.
        num_heads: heads.
        window: places read to each side (W).
        global_places: which places of a row are global; those behind its end are none.
        options: as for `SelfAttention`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=True, streams=False, weights=False
    )
    turned: ClassVar[int] = 4

    def __init__(
        self, dim: int, num_heads: int, *, window: int, global_places: tuple[int, ...] = (0,), **options: Any
    ) -> None:
        super().__init__(dim, num_heads, **options)
        self.window, self.global_places = window, global_places
        inner = num_heads * (2 * self.head_dim + self.value_dim)
        self.qkv, self.global_qkv = Linear(dim, inner), Linear(dim, inner)

    def project(self, x: Float[Tensor, "r m dim"]) -> tuple[Float[Tensor, "r m _ _"], ...]:
        sizes = self.head_dim, self.head_dim, self.value_dim
        (q, k, v), (global_q, global_k, global_v) = (
            self.split(made(x), *sizes) for made in (self.qkv, self.global_qkv)
        )
        return q, k, global_q, global_k, torch.cat([v, global_v], 2)

    def mix(
        self, parts: tuple[Float[Tensor, "r _ m _"], ...], valid: Bool[Tensor, "r m"], causal: bool
    ) -> Float[Tensor, "r h m e"]:
        q, k, global_q, global_k, values = (x.transpose(1, 2) for x in parts)
        v, global_v = values.chunk(2, 2)
        ahead: Pattern = Causal() if causal else Full()
        known = [place for place in self.global_places if place < q.shape[1]]
        pattern = (Window(self.window) | Globals(tuple(known)) if known else Window(self.window)) & ahead
        y = attend(q, k, v, pattern, Valid(valid))
        for place in known:
            one = global_q[:, place : place + 1]
            answer = attend(one, global_k, global_v, ahead, Valid(valid), q_start=place, whole=False)
            y = torch.cat([y[:, :place], answer, y[:, place + 1 :]], 1)
        return y.transpose(1, 2)

    def cost(self, length: int) -> Cost:
        read = min(length, 2 * self.window + 1 + len(self.global_places))
        pairs = self.num_heads * length * (read + len(self.global_places))
        return Cost(pairs * (self.head_dim + self.value_dim), pairs)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, window={self.window}, global_places={self.global_places}"


def longformer(window: str, *global_places: str) -> Callable[..., Longformer]:
    """Make what builds a `Longformer`, for `attention="longformer:W"` and `attention="longformer:W,PLACE,..."`."""
    places = tuple(whole_number(place, "PLACE", 0) for place in global_places) or (0,)
    return partial(Longformer, window=whole_number(window, "W"), global_places=places)
