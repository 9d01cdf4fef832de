"""Sparse Sinkhorn attention: blocks read themselves and a block that a learned sorting brings (arXiv:2002.11296).

Axes: r rows, h heads, m places, a blocks of them, s places of a block, d and e channels of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from zoo.core.errors import ConfigError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.doubly_stochastic import sinkhorn as balanced
from zoo.core.mechanisms.efficient.self_attention import SelfAttention, check_bounded, whole_number
from zoo.core.ops.linear import Linear
from zoo.core.scoring.normalizers import masked_softmax

LEAST = 1e-30
"""Least share of a sorted place that counts; its logarithm is finite in float32."""


class SinkhornAttention(SelfAttention):
    """A block of queries reads its own keys and those of R K, where R sorts the blocks, arXiv:2002.11296 sec. 3.

    R is Sinkhorn's iteration on (P(sum of the block) + Gumbel noise) / tau; P has two layers and gives a score for each
    block, so the number of blocks is bounded. The noise is drawn in training only. As tau goes to 0, R becomes a
    permutation, and this is attention to two blocks. A sorted place counts by its share of what is there (a logarithm
    added to its scores), since the last block may be filled in part.
    It is refused where it had to be causal: a column of R is normed over all blocks of queries, so later blocks change
    what earlier ones read, and with R lower triangular the only balanced matrix is the identity. The causal form of the
    paper masks the sort and gives the balance up: another mechanism, which is not here.

    Args:
        dim: channels in and out.
        num_heads: heads.
        block: places of a block.
        length: the longest row.
        tau: temperature of the sorting.
        iterations: norms of rows or columns of R.
        options: as for `SelfAttention`.

    Raises:
        ConfigError: If a block is longer than the longest row.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=False, padding_exact=True, any_length=False, streams=False, weights=True
    )
    not_causal: ClassVar[str] = "sorts all blocks at once, so later ones decide what earlier ones read"

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        block: int,
        length: int = 512,
        tau: float = 0.75,
        iterations: int = 16,
        **options: Any,
    ) -> None:
        super().__init__(dim, num_heads, **options)
        if block > length:
            raise ConfigError(f"BLOCK={block} is above length={length}: a row has at least one block")
        self.block, self.length, self.tau, self.iterations = block, length, tau, iterations
        sizes = 3 * self.head_dim + self.value_dim
        self.qkv = Linear(dim, num_heads * sizes)
        self.w = nn.Parameter(torch.randn(num_heads, self.head_dim, -(-length // block)) * self.head_dim**-0.5)

    def project(self, x: Float[Tensor, "r m dim"]) -> tuple[Float[Tensor, "r m h _"], ...]:
        return self.split(self.qkv(x), self.head_dim, self.head_dim, self.head_dim, self.value_dim)

    def mix(
        self, parts: tuple[Float[Tensor, "r h m _"], ...], valid: Bool[Tensor, "r m"], causal: bool
    ) -> Float[Tensor, "r h m e"]:
        m = valid.shape[1]
        check_bounded(self, m, self.length)
        behind = -m % self.block
        q, k, content, v = (pad(x, (0, 0, 0, behind)).unflatten(2, (-1, self.block)) for x in parts)
        there = pad(valid, (0, behind)).unflatten(1, (-1, self.block))
        sort = self.sorting(content, there.any(-1))
        share = sort @ there[:, None].to(q.dtype)
        bias = torch.cat([torch.zeros_like(share), share.clamp(min=LEAST).log()], -1)
        allowed = torch.cat([there[:, None].expand_as(share), share > LEAST], -1)
        keys, values = (torch.cat([x, sorted_blocks(sort, x)], 3) for x in (k, v))
        scores = q @ keys.mT * self.head_dim**-0.5 + bias[..., None, :]
        return (masked_softmax(scores, allowed[..., None, :]) @ values).flatten(2, 3)[:, :, :m]

    def sorting(self, content: Float[Tensor, "r h a s d"], taken: Bool[Tensor, "r a"]) -> Float[Tensor, "r h a a"]:
        """Give R for the blocks that are taken; 0 for the others."""
        blocks = content.shape[2]
        scores = relu(content.sum(3)) @ self.w[..., :blocks].to(content.dtype)
        if self.training:
            scores = scores - torch.empty_like(scores).exponential_().clamp(min=1e-20).log()
        there = (taken[:, :, None] & taken[:, None])[:, None]
        return balanced(scores / self.tau, there, self.iterations)

    def cost(self, length: int) -> Cost:
        blocks, sizes = -(-length // self.block), self.head_dim + self.value_dim
        pairs = length * 2 * self.block
        sorting = blocks * blocks * (self.head_dim + self.block * sizes)
        return Cost(self.num_heads * (pairs * sizes + sorting), self.num_heads * (pairs + 2 * length * sizes))

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, block={self.block}, length={self.length}, tau={self.tau}"


def sorted_blocks(sort: Float[Tensor, "r h a a"], x: Float[Tensor, "r h a s d"]) -> Float[Tensor, "r h a s d"]:
    """Give R X: block i is the sum of the blocks j, each times R_ij."""
    return (sort @ x.flatten(3)).unflatten(3, x.shape[3:])


def sinkhorn(block: str, length: str = "512") -> Callable[..., SinkhornAttention]:
    """Make what builds a `SinkhornAttention`, for `attention="sinkhorn:BLOCK"` and `"sinkhorn:BLOCK,LENGTH"`."""
    return partial(SinkhornAttention, block=whole_number(block, "BLOCK"), length=whole_number(length, "LENGTH"))
