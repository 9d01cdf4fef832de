"""Relative biases: added to the scores by the offset of query and key.

A relative bias says what it adds for a range of offsets (key minus query), and `skew` turns that into a matrix or a
band, so dense and windowed attention share one definition.
Axes: b rows, h heads, q queries, k keys, o offsets, d, e head sizes; # may be 1.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.scoring.bias import Bias


class Relative(Bias):
    """Add something that depends on the offset between key and query, and perhaps on the query."""

    kind = "relative"

    @abstractmethod
    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        """Give what is added for each offset from lowest to highest, both included."""

    def factors(
        self, q: Float[Tensor, "b h q d"], lowest: int, highest: int
    ) -> tuple[Float[Tensor, "b h q d"], Float[Tensor, "h o d"]] | None:
        """Give queries and vectors of the offsets whose scaled product is `band`; None where it is no product."""
        return None

    def scores(
        self, q: Float[Tensor, "b h q d"], i: Int[Tensor, "#b q"], j: Int[Tensor, "#b k"], scale: float
    ) -> Float[Tensor, "#b #h #q #k"]:
        """See `Bias.scores`; any positions, gathered."""
        offset = j[:, None] - i[:, :, None]
        if not offset.numel():
            return q.new_zeros(1, 1, *offset.shape[1:])
        lowest, highest = int(offset.min()), int(offset.max())
        band = self.band(q, lowest, highest, scale)
        index = (offset - lowest)[:, None]
        shape = [max(a, b) for a, b in zip(band.shape[:3], (index.shape[0], 1, index.shape[2]), strict=True)]
        return band.expand(*shape, -1).gather(3, index.expand(*shape, -1))

    def on_line(self, q: Float[Tensor, "b h q d"], keys: int, start: int, scale: float) -> Float[Tensor, "#b #h q k"]:
        """Give `scores` for queries from `start` on and keys from 0 on, without looking at positions.

        Args:
            q: queries.
            keys: number of keys.
            start: position of the first query.
            scale: of the scores.
        """
        n = q.shape[2]
        band = self.band(q, -(start + n - 1), keys - 1 - start, scale)
        rows, heads, _, width = band.shape
        if torch.compiler.is_exporting():  # ONNX has no strides
            offset = torch.arange(keys, device=q.device) - torch.arange(n, device=q.device)[:, None] + n - 1
            return band.expand(-1, -1, n, -1).gather(3, offset.expand(rows, heads, -1, -1))
        band = band.expand(-1, -1, n, -1).contiguous()
        # each row begins one offset earlier than the one before; one view, since each of several costs its own gradient
        begin: int | torch.SymInt = 0
        if torch.compiler.is_compiling():  # dynamo asks no tensor where it begins
            band = band.clone()
        else:
            begin = band.storage_offset()
        step = max(1, width - 1)
        return band.as_strided((rows, heads, n, keys), (heads * n * width, n * width, step, 1), begin + n - 1)


@dataclass(frozen=True, eq=False)
class RelativeTable(Relative):
    """Add a learned number for each head and offset; beyond the table its ends (arXiv:1910.10683 sec. 2.1).

    Args:
        table: a number for each offset from -left on.
        left: offsets that lie behind the query.
    """

    table: Float[Tensor, "h o"]
    left: int

    def __post_init__(self) -> None:
        check_shape(self, "table", self.table, "(heads, offsets)")

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        offset = torch.arange(lowest, highest + 1, device=self.table.device)
        picked = self.table[:, (offset + self.left).clamp(0, self.table.shape[1] - 1)]
        return picked[:, None].to(q.dtype).reshape(*[1] * (q.ndim - 3), len(picked), 1, -1)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.table,)


@dataclass(frozen=True, eq=False)
class ALiBi(Relative):
    """Take off a head's slope times the distance (arXiv:2108.12409 sec. 3); symmetric where keys lie ahead.

    Args:
        slopes: one for each head.
    """

    slopes: Float[Tensor, " h"]

    def __post_init__(self) -> None:
        check_shape(self, "slopes", self.slopes, "(heads,)")

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        distance = torch.arange(lowest, highest + 1, device=self.slopes.device).abs()
        added = -self.slopes[:, None, None] * distance
        return added.to(q.dtype).reshape(*[1] * (q.ndim - 3), *added.shape)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.slopes,)


@dataclass(frozen=True, eq=False)
class TransformerXL(Relative):
    """Score ((q + u)·k + (q + v)·r) with r the vector of the offset, scaled together (arXiv:1901.02860 sec. 3.3).

    Args:
        u: added to the query that meets the key.
        v: added to the query that meets the offset.
        r: projected vectors of the offsets, from `lowest` on.
        lowest: offset of the first vector; negative for a key behind the query.
    """

    u: Float[Tensor, "h d"]
    v: Float[Tensor, "h d"]
    r: Float[Tensor, "h o d"]
    lowest: int

    def __post_init__(self) -> None:
        for name in ("u", "v"):
            check_shape(self, name, getattr(self, name), "(heads, channels)")
        check_shape(self, "r", self.r, "(heads, offsets, channels)")

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        return q + self.u[:, None].to(q.dtype)

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        """See `Relative.band`.

        Raises:
            InputError: If there is no vector for an offset.
        """
        r = stretch(self.r, self.lowest, lowest, highest).to(q.dtype)
        return ((q + self.v[:, None].to(q.dtype)) * scale) @ r.mT

    def factors(
        self, q: Float[Tensor, "b h q d"], lowest: int, highest: int
    ) -> tuple[Float[Tensor, "b h q d"], Float[Tensor, "h o d"]]:
        return q + self.v[:, None].to(q.dtype), stretch(self.r, self.lowest, lowest, highest).to(q.dtype)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.u, self.v, self.r


@dataclass(frozen=True, eq=False)
class Shaw(Relative):
    """Add a vector of the offset to each key, and another to each value (arXiv:1803.02155 eq. 3 and 4).

    Offsets beyond the tables get their ends.

    Args:
        a_k: vectors added to keys, from offset -left on; one set for all heads or one for each.
        a_v: vectors added to values; None for none.
        left: offsets that lie behind the query.
    """

    a_k: Float[Tensor, "#h o d"]
    a_v: Float[Tensor, "#h o e"] | None
    left: int

    def __post_init__(self) -> None:
        for name in ("a_k", "a_v"):
            if (table := getattr(self, name)) is not None:
                check_shape(self, name, table, "(heads or 1, offsets, channels)")

    @property
    def adds_values(self) -> bool:  # type: ignore[override]
        """See `Bias.adds_values`."""
        return self.a_v is not None

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        return (q * scale) @ self._picked(self.a_k, lowest, highest).to(q.dtype).mT

    def values(self, lowest: int, highest: int) -> Float[Tensor, "#h o e"] | None:
        return None if self.a_v is None else self._picked(self.a_v, lowest, highest)

    def _picked(self, table: Tensor, lowest: int, highest: int) -> Tensor:
        offset = torch.arange(lowest, highest + 1, device=table.device)
        return table[:, (offset + self.left).clamp(0, table.shape[1] - 1)]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.a_k,) if self.a_v is None else (self.a_k, self.a_v)


def check_shape(bias: Bias, name: str, x: Any, axes: str) -> None:
    """Refuse a tensor of a bias that has other axes than it needs, or nothing along one.

    Raises:
        InputError: If it has.
    """
    if not isinstance(x, Tensor):
        raise InputError(f"{name} of {type(bias).__name__} is {x!r}: it is a tensor {axes}")
    if x.ndim != len(axes.strip("()").rstrip(",").split(", ")) or 0 in x.shape:
        raise InputError(f"{name} of {type(bias).__name__} is of shape {tuple(x.shape)}: it is {axes}, none of them 0")


def stretch(r: Float[Tensor, "h o d"], first: int, lowest: int, highest: int) -> Float[Tensor, "h n d"]:
    """Cut the vectors of the offsets from lowest to highest out of those that begin at `first`.

    Raises:
        InputError: If some are missing.
    """
    if lowest < first or highest >= first + r.shape[1]:
        raise InputError(
            f"offsets {lowest} … {highest} are needed, and there are vectors for {first} … {first + r.shape[1] - 1}"
        )
    return r[:, lowest - first : highest + 1 - first]


def skew(band: Float[Tensor, "*b q o"], width: int, fill: float = float("-inf")) -> Float[Tensor, "*b q width"]:
    """Turn columns that count offsets into columns that count keys: row n moves n to the right.

    arXiv:1901.02860 app. B. What lies outside the band is `fill`, so with -inf the band masks itself.

    Args:
        band: row n holds the offsets from that of its first readable key on.
        width: keys, as many as queries plus offsets minus one.
        fill: what stands outside the band.
    """
    q, o = band.shape[-2:]
    padded = torch.nn.functional.pad(band, (0, width + 1 - o), value=fill)
    return padded.flatten(-2)[..., : q * width].unflatten(-1, (q, width))
