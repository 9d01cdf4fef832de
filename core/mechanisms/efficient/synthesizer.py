"""Synthesizer: attention weights without a product of queries and keys (arXiv:2005.00743).

Axes: b rows, n places, h heads, d and e channels of a head, l places it was made for.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from zoo.core.errors import ConfigError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.self_attention import SelfAttention, check_bounded, whole_number
from zoo.core.ops.linear import Linear
from zoo.core.scoring.normalizers import masked_softmax


class Synthesizer(SelfAttention):
    """softmax(B) V, where a subclass says what B is; causal by a mask, exactly.

    There are no queries and keys, so positions are added to the tokens. A decoder has no state: `generate` reads the
    prefix again.

    Args:
        dim: channels in and out.
        num_heads: heads.
        length: the longest row.
        options: as for `SelfAttention`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=False, streams=False, weights=True
    )
    turned: ClassVar[int] = 0
    products: int = 0
    """Multiply-adds that a score takes."""

    def __init__(self, dim: int, num_heads: int, *, length: int = 512, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.length = length
        self.value = Linear(dim, num_heads * self.value_dim)

    @abstractmethod
    def scores(self, parts: tuple[Float[Tensor, "b h n _"], ...], n: int) -> Float[Tensor, "#b h n n"]:
        """Give B of a row of n places, from what `project` gave beside the values."""

    def project(self, x: Float[Tensor, "b n dim"]) -> tuple[Float[Tensor, "b n h _"], ...]:
        return self.split(self.value(x), self.value_dim)

    def mix(
        self, parts: tuple[Float[Tensor, "b h n _"], ...], valid: Bool[Tensor, "b n"], causal: bool
    ) -> Float[Tensor, "b h n e"]:
        *given, v = parts
        n = v.shape[2]
        check_bounded(self, n, self.length)
        allowed = valid[:, None, None].expand(-1, -1, n, -1)
        allowed = allowed.tril() if causal else allowed
        scores = self.scores(tuple(given), n).to(v.dtype)
        return masked_softmax(scores.expand(len(v), -1, -1, -1), allowed) @ v

    def cost(self, length: int) -> Cost:
        pairs = self.num_heads * length * length
        return Cost(pairs * (self.products + self.value_dim), pairs)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, length={self.length}"


class DenseSynthesizer(Synthesizer):
    """B_i = W2 relu(W1 x_i + b1) + b2, arXiv:2005.00743 sec. 3.1: each place says by itself which places it reads.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Synthesizer`.
    """

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.products = self.head_dim
        self.hidden = Linear(dim, num_heads * self.head_dim)
        self.w = nn.Parameter(torch.randn(num_heads, self.head_dim, self.length) * self.head_dim**-0.5)
        self.b = nn.Parameter(torch.zeros(num_heads, self.length))

    def project(self, x: Float[Tensor, "b n dim"]) -> tuple[Float[Tensor, "b n h _"], ...]:
        return *self.split(relu(self.hidden(x)), self.head_dim), *super().project(x)

    def scores(self, parts: tuple[Float[Tensor, "b h n _"], ...], n: int) -> Float[Tensor, "b h n n"]:
        hidden = parts[0]
        return hidden @ self.w[..., :n].to(hidden.dtype) + self.b[:, None, :n].to(hidden.dtype)


class RandomSynthesizer(Synthesizer):
    """B is a learned matrix of places, arXiv:2005.00743 sec. 3.2: the same weights for every input.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Synthesizer`.
    """

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.table = nn.Parameter(torch.randn(num_heads, self.length, self.length))

    def scores(self, parts: tuple[Float[Tensor, "b h n _"], ...], n: int) -> Float[Tensor, "1 h n n"]:
        return self.table[None, :, :n, :n]


class FactorisedSynthesizer(Synthesizer):
    """B = R1 R2ᵀ with learned R1, R2 of `rank` columns, arXiv:2005.00743 sec. 3.2.1: factorised random.

    Args:
        dim: channels in and out.
        num_heads: heads.
        rank: columns of the two matrices; 8 in the paper.
        options: as for `Synthesizer`.
    """

    def __init__(self, dim: int, num_heads: int, *, rank: int = 8, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.products = rank
        shape = num_heads, self.length, rank
        self.rows, self.columns = (nn.Parameter(torch.randn(shape) * rank**-0.25) for _ in range(2))

    def scores(self, parts: tuple[Float[Tensor, "b h n _"], ...], n: int) -> Float[Tensor, "1 h n n"]:
        return (self.rows[:, :n] @ self.columns[:, :n].mT)[None]


KINDS = {"dense": DenseSynthesizer, "random": RandomSynthesizer, "factorised": FactorisedSynthesizer}


def synthesizer(kind: str, length: str = "512") -> Callable[..., Synthesizer]:
    """Make what builds a `Synthesizer`, for `attention="synthesizer:KIND"` and `attention="synthesizer:KIND,LENGTH"`.

    Raises:
        ConfigError: If there is no such kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"synthesizer:{kind} is not one of {', '.join(KINDS)}")
    return partial(KINDS[kind], length=whole_number(length, "LENGTH"))
