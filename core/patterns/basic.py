"""Basic patterns: `Causal`, and `Explicit`, a given mask.

Axes: see `zoo.core.patterns.pattern`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.patterns.pattern import BoundingBand, Pattern


@dataclass(frozen=True)
class Causal(Pattern):
    """Let a query read the keys up to its own position."""

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        return j <= i

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        growing = min(queries, max(0, keys - start))
        return growing * start + growing * (growing + 1) // 2 + (queries - growing) * keys

    def cover(self) -> BoundingBand:
        return BoundingBand(None, 0)

    def __str__(self) -> str:
        return "causal"


@dataclass(frozen=True, eq=False)
class Explicit(Pattern):
    """Let the pairs of a given mask read: (q, k), (rows, q, k) or (rows, heads, q, k), by absolute position.

    Before position 0 stands padding, which reads nothing and is read by nobody.
    """

    may_read: Tensor
    by_value = False

    @property
    def by_row(self) -> bool:  # type: ignore[override]
        """See `Pattern.by_row`."""
        return self.may_read.ndim > 2

    def __post_init__(self) -> None:
        if self.may_read.dtype != torch.bool or not 2 <= self.may_read.ndim <= 4:
            shape, dtype = tuple(self.may_read.shape), self.may_read.dtype
            raise InputError(
                f"Explicit needs a boolean mask (q, k), (rows, q, k) or (rows, heads, q, k); got {shape} of {dtype}"
            )

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        self._check_inside(queries, keys)
        full = self.may_read.to(queries.device)
        full = full[:, None] if full.ndim == 3 else full[(None,) * (4 - full.ndim)]
        keys = keys if keys.ndim == 2 else keys[None]
        counts = {len(x) for x in (full, queries, keys)} - {1}
        if len(counts) > 1:
            raise InputError(f"Explicit mask of {len(full)} rows for a batch of {len(queries)}")
        rows = counts.pop() if counts else 1
        r = torch.arange(rows, device=queries.device)[:, None, None]
        i, j = queries.expand(rows, -1)[:, :, None], keys.expand(rows, -1)[:, None]
        picked = full.expand(rows, -1, -1, -1)[r, :, i.clamp(min=0), j.clamp(min=0)]
        return (picked & ((i >= 0) & (j >= 0))[..., None]).permute(0, 3, 1, 2)

    def _check_inside(self, queries: Tensor, keys: Tensor) -> None:
        rows, columns = self.may_read.shape[-2:]
        if torch.compiler.is_compiling():  # which reads no values
            return
        if not (queries.numel() and keys.numel()):
            return
        row, column = torch.stack([queries.max(), keys.max()]).tolist()  # a GPU is waited for once
        if row >= rows or column >= columns:
            needed = (row + 1, column + 1)
            raise InputError(f"Explicit mask of {(rows, columns)} queries and keys is read at {needed}")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`; defined for a mask that is the same for all rows and heads."""
        if self.may_read.ndim != 2:
            raise ConfigError(f"a mask of {self.may_read.ndim} axes depends on row and head: use mask(), not allows()")
        return self.may_read.to(i.device)[i.clamp(min=0), j.clamp(min=0)] & (i >= 0) & (j >= 0)

    def __repr__(self) -> str:
        return f"Explicit({' x '.join(map(str, self.may_read.shape))}, {int(self.may_read.sum())} pairs)"
