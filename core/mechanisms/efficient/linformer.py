"""Linformer: keys and values are projected to K places before the softmax (arXiv:2006.04768).

Axes: b rows, n places, h heads, d and e channels of a head, l places it was made for.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.self_attention import ProjectedAttention, check_bounded, whole_number


class Linformer(ProjectedAttention):
    """softmax(Q (E K)ᵀ / sqrt(d)) F V with learned E and F of K rows, arXiv:2006.04768 eq. 7.

    E and F are those of a layer, shared by its heads: the paper's headwise sharing. With K the length and E = F = 1 it
    is softmax attention. It cannot be causal: row c of E K is sum_j E_cj k_j, so the one place c of the softmax that a
    query reads holds all keys j at once, later ones too. A shorter row uses the first columns of E and F, and padding
    is 0 before the products, so it changes nothing.

    Args:
        dim: channels in and out.
        num_heads: heads.
        projected: places that keys and values are projected to (K).
        length: the longest row.
        options: as for `SelfAttention`.

    Raises:
        ConfigError: If there are more projected places than places.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=False, padding_exact=True, any_length=False, streams=False, weights=True
    )
    not_causal: ClassVar[str] = "projects the keys of all places, later ones too, to each place that a query reads"
    turned: ClassVar[int] = 0

    def __init__(self, dim: int, num_heads: int, *, projected: int, length: int = 512, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        if projected > length:
            raise ConfigError(f"K={projected} is above length={length}: there are no more places to project to")
        self.length = length
        deviation = projected**-0.5  # of the random projection in the proof of theorem 2
        self.of_keys, self.of_values = (nn.Parameter(torch.randn(projected, length) * deviation) for _ in range(2))

    def mix(
        self, parts: tuple[Float[Tensor, "b _ n _"], ...], valid: Bool[Tensor, "b n"], causal: bool
    ) -> Float[Tensor, "b h n e"]:
        q, k, v = parts
        n = q.shape[2]
        check_bounded(self, n, self.length)
        e, f = (x[:, :n].to(q.dtype) for x in (self.of_keys, self.of_values))
        return (q @ (e @ k).mT * self.head_dim**-0.5).softmax(-1) @ (f @ v)

    def cost(self, length: int) -> Cost:
        rows, sizes = self.num_heads * len(self.of_keys), self.head_dim + self.value_dim
        return Cost(rows * 2 * length * sizes, rows * (length + sizes))

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, projected={len(self.of_keys)}, length={self.length}"


def linformer(projected: str, length: str = "512") -> Callable[..., Linformer]:
    """Make what builds a `Linformer`, for `attention="linformer:K"` and `attention="linformer:K,LENGTH"`."""
    sizes = whole_number(projected, "K"), whole_number(length, "LENGTH")
    return partial(Linformer, projected=sizes[0], length=sizes[1])
