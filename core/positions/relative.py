"""Relative position encodings with parameters, as parts of an `Attention`, which add to the scores by offset.

They give the values of `zoo.core.scoring.bias`, which every backend understands. Offset: position of the key minus the
query's.
Axes: b rows, q queries, h heads, o offsets, d head size.
"""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.ops.int8.int8_matrix import Int8Matrix
from zoo.core.ops.products import multiply
from zoo.core.positions.absolute import sinusoid
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.scoring.relative_bias import ALiBi, Relative, RelativeTable, Shaw, TransformerXL


class TablePosition(AttentionPosition):
    """Add a learned number for each head and offset; offsets beyond the table get its ends (arXiv:1910.10683 sec. 2.1).

    The paper shares a number among far offsets of one bucket; here each has its own.

    Args:
        num_heads: heads.
        left: how far back offsets are told apart, positions.
        right: how far ahead; as far as back if None.
    """

    def __init__(self, num_heads: int, left: int, right: int | None = None) -> None:
        super().__init__()
        self.left, self.right = _reach(left, right)
        self.table = nn.Parameter(torch.zeros(num_heads, self.left + self.right + 1))

    def bias(self) -> RelativeTable:
        return RelativeTable(self.table, self.left)


class ALiBiPosition(AttentionPosition):
    """Take off each head's slope times the distance, arXiv:2108.12409 sec. 3; nothing is learned.

    Args:
        num_heads: heads.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(num_heads)
        self.like: Tensor
        self.register_buffer("like", torch.empty(0), persistent=False)  # tells the device; slopes stay float32

    def bias(self) -> ALiBi:
        dtype = torch.float64 if self.like.dtype is torch.float64 else torch.float32
        return ALiBi(torch.tensor(self.slopes, device=self.like.device, dtype=dtype))


def alibi_slopes(num_heads: int) -> list[float]:
    """Give 2^(-8/n), 2^(-16/n), … for n heads; where n is no power of two, those of the next lower power of two first.

    arXiv:2108.12409 sec. 3 and its code: the rest are every other slope of twice that power, from the first on.

    Raises:
        ConfigError: If there is no head.
    """
    if num_heads < 1:
        raise ConfigError(f"num_heads={num_heads}: slopes are for at least one head")
    n = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return slopes + [2 ** (-4 * (2 * i + 1) / n) for i in range(num_heads - n)]


class ShawPosition(AttentionPosition):
    """Add a learned vector of the offset to each key and to each value, shared by the heads: arXiv:1803.02155 sec. 3.2.

    Args:
        head_dim: channels of a head of keys.
        left: how far back offsets are told apart (k in the paper), positions; beyond, they are clipped.
        right: how far ahead; as far as back if None.
        value_dim: channels of a head of values; `head_dim` if None.
    """

    acts_on = "products"

    def __init__(self, head_dim: int, left: int = 16, right: int | None = None, value_dim: int | None = None) -> None:
        super().__init__()
        self.left, self.right = _reach(left, right)
        count = self.left + self.right + 1
        self.of_keys = nn.Parameter(torch.randn(1, count, head_dim) * 0.02)
        self.of_values = nn.Parameter(torch.randn(1, count, value_dim or head_dim) * 0.02)

    def bias(self) -> Shaw:
        return Shaw(self.of_keys, self.of_values, self.left)


class TransformerXLPosition(AttentionPosition):
    """Let queries meet keys and projected sinusoids of the offset, each with a learned bias: arXiv:1901.02860 sec. 3.3.

    Args:
        dim: channels of the sinusoids.
        num_heads: heads.
        head_dim: channels of a head.
    """

    acts_on = "products"

    def __init__(self, dim: int, num_heads: int, head_dim: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.randn(num_heads, head_dim) * 0.02)
        self.v = nn.Parameter(torch.randn(num_heads, head_dim) * 0.02)
        self.project = nn.Linear(dim, num_heads * head_dim, bias=False)

    def bias(self) -> "ProjectedOffsets":
        return ProjectedOffsets(self.u, self.v, self.project.weight)


@dataclass(frozen=True, eq=False)
class ProjectedOffsets(Relative):
    """`TransformerXL` that projects the sinusoids when a backend says which offsets it needs: few for a window.

    What was projected is kept, so one use of attention projects once, for all rows.

    Args:
        u: added to the query that meets the key.
        v: added to the query that meets the offset.
        weight: of the projection.
    """

    u: Float[Tensor, "h d"]
    v: Float[Tensor, "h d"]
    weight: Float[Tensor, "inner dim"] | Int8Matrix
    cached: dict[str, tuple[int, Tensor]] = field(default_factory=dict, repr=False)

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        return q + self.u[:, None].to(q.dtype)

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        first, r = self.projected(lowest, highest)
        return TransformerXL(self.u, self.v, r, first).band(q, lowest, highest, scale)

    def factors(
        self, q: Float[Tensor, "b h q d"], lowest: int, highest: int
    ) -> tuple[Float[Tensor, "b h q d"], Float[Tensor, "h o d"]]:
        first, r = self.projected(lowest, highest)
        return TransformerXL(self.u, self.v, r, first).factors(q, lowest, highest)

    def projected(self, lowest: int, highest: int) -> tuple[int, Float[Tensor, "h n d"]]:
        """Give projected vectors that hold those of the offsets from lowest to highest, and the offset of the first."""
        if "r" in self.cached:
            first, r = self.cached["r"]
            last = first + r.shape[1] - 1
            if first <= lowest and highest <= last:
                return first, r
            # a backend that goes on block by block: fetch twice as much, so that this happens a few times only
            lowest = min(first, lowest - r.shape[1]) if lowest < first else first
            highest = max(last, highest + r.shape[1]) if highest > last else last
        # the paper counts from key to query, the other way round
        distance = -torch.arange(lowest, highest + 1, device=self.weight.device)
        waves = sinusoid(distance, self.weight.shape[1], self.weight.dtype)
        r = multiply(waves, self.weight, None).unflatten(1, (self.u.shape[0], -1)).transpose(0, 1)
        self.cached["r"] = (lowest, r)
        return lowest, r

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.u, self.v, self.weight.int8 if isinstance(self.weight, Int8Matrix) else self.weight


def _reach(left: int, right: int | None) -> tuple[int, int]:
    right = left if right is None else right
    if left < 0 or right < 0:
        raise ConfigError(f"left={left}, right={right}: offsets reach 0 or more positions to each side")
    return left, right
