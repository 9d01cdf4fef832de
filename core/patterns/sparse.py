"""Sparse patterns: global positions, blocks, columns, and the two patterns of the Sparse Transformer.

Axes: see `zoo.core.patterns.pattern`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.core.patterns.local import Window
from zoo.core.patterns.pattern import BoundingBand, Pattern, ShapeInfo


@dataclass(frozen=True)
class Globals(Pattern):
    """Let these positions read all and be read by all (arXiv:2004.05150 sec. 3.1), and nobody else read anything.

    Args:
        index: positions, ordered and each once.

    Raises:
        ConfigError: If a position is negative.
    """

    index: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", tuple(sorted(set(self.index))))
        if self.index and self.index[0] < 0:
            raise ConfigError(f"{self!r}: positions are not negative")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        found = torch.zeros((), dtype=torch.bool, device=i.device)
        for g in self.index:
            found = found | (i == g) | (j == g)
        return found.expand(torch.broadcast_shapes(i.shape, j.shape))

    def misfit(self, extent: ShapeInfo) -> str | None:
        """See `Pattern.misfit`; a position is that of a query or of a key, and where nothing is, it names nothing."""
        last, count = self.index[-1] if self.index else -1, max(extent.end, extent.keys)
        known = extent.whole and extent.start is not None and (count or extent.fixed)
        if not known or last < count:
            return None
        return f"{self} names position {last}, and the {count} there are end at {count - 1}"

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        rows = sum(start <= g < start + queries for g in self.index)
        columns = sum(g < keys for g in self.index)
        return rows * keys + columns * queries - rows * columns

    def cover(self) -> BoundingBand:
        return BoundingBand(0, 0, self.index, self.index)

    def __str__(self) -> str:
        return f"globals:{','.join(map(str, self.index)) or 'none'}"


@dataclass(frozen=True)
class Blocks(Pattern):
    """Let blocks of queries read blocks of keys (arXiv:2007.14062 app. D).

    Args:
        size: positions in a block.
        reads: for each block of queries, which blocks of keys it reads; blocks behind the last read nothing.

    Raises:
        ConfigError: If the size is not positive or a block negative.
    """

    size: int
    reads: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", tuple(tuple(sorted(set(row))) for row in self.reads))
        if self.size < 1 or any(row and row[0] < 0 for row in self.reads):
            raise ConfigError(f"{self!r}: size is at least 1 and blocks are not negative")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        columns = 1 + max((row[-1] for row in self.reads if row), default=0)
        table = torch.zeros(len(self.reads) + 1, columns + 1, dtype=torch.bool)  # the last row and column are empty
        for block, row in enumerate(self.reads):
            table[block, list(row)] = True
        a = i.div(self.size, rounding_mode="floor").clamp(max=len(self.reads))
        b = j.div(self.size, rounding_mode="floor").clamp(max=columns)
        return table.to(i.device)[a, b] & (i >= 0) & (j >= 0)

    def misfit(self, extent: ShapeInfo) -> str | None:
        """See `Pattern.misfit`; fewer queries than there are blocks for may come, unless there are always so many."""
        needed = -(-extent.end // self.size) if extent.queries or extent.fixed else 0
        if needed == len(self.reads) or (needed < len(self.reads) and not extent.fixed):
            return None
        shown = f"{self!r} has {len(self.reads)} blocks of {self.size}"
        return f"{shown}, and {extent.end} positions make {needed}"

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        count = 0
        for a, row in enumerate(self.reads):
            rows = _inside(a, self.size, start, start + queries)
            count += rows * sum(_inside(b, self.size, 0, keys) for b in row)
        return count

    def __repr__(self) -> str:
        return f"Blocks(size={self.size}, {len(self.reads)} blocks, {sum(map(len, self.reads))} pairs of blocks)"

    def __str__(self) -> str:
        rows = "/".join("+".join(map(str, row)) for row in self.reads)
        return f"blocks:{self.size},{rows if self.reads else 'none'}"


def _inside(block: int, size: int, first: int, last: int) -> int:
    return max(0, min((block + 1) * size, last) - max(block * size, first))


def big_bird(length: int, size: int = 64, *, window: int = 1, randoms: int = 3, seed: int = 0) -> Blocks:
    """Draw BigBird's pattern: neighbouring blocks, random blocks, and a first and last block that read and are read.

    arXiv:2007.14062 sec. 2 and app. D.

    Args:
        length: positions.
        size: positions in a block.
        window: neighbouring blocks to each side.
        randoms: random blocks for each block of queries, as far as there are so many left.
        seed: of the random blocks.
    """
    blocks = -(-length // size)
    generator = torch.Generator().manual_seed(seed)
    reads: list[tuple[int, ...]] = []
    for a in range(blocks):
        if a in (0, blocks - 1):
            reads.append(tuple(range(blocks)))
            continue
        fixed = {0, blocks - 1, *range(max(0, a - window), min(blocks, a + window + 1))}
        left = [b for b in range(blocks) if b not in fixed]
        picked = torch.randperm(len(left), generator=generator)[:randoms].tolist()
        reads.append((*fixed, *(left[p] for p in picked)))
    return Blocks(size, tuple(reads))


def lra_local(size: int, length: int) -> Window:
    """Give what "local attention" reads in the published code of the Long Range Arena (arXiv:2011.04006).

    The code pads a sequence to the next multiple of the size (by a whole block if it is one already), reshapes it to
    (size, blocks), and lets the positions of a column read each other: these are no neighbours, as in the paper's
    text, but lie as far apart as there are blocks (google-research/long-range-arena#44). The text's is `Chunk(size)`.
    Not imitated: what it pads is read as vectors of zeros, and its mask for padding falls on the last column.

    Args:
        size: positions that read each other.
        length: positions.

    Raises:
        ConfigError: If one is not positive.
    """
    if size < 1 or length < 1:
        raise ConfigError(f"lra_local({size}, {length}): size and length are at least 1")
    return Window(size - 1, size - 1, dilation=length // size + 1)


@dataclass(frozen=True)
class Fixed(Pattern):
    """Read one's own stretch up to oneself, and the last `summary` positions of all before (arXiv:1904.10509 sec. 4.3).

    Args:
        size: positions in a stretch (l in the paper).
        summary: positions at the end of each stretch that all later ones read (c in the paper).

    Raises:
        ConfigError: If a number is not positive, or the summary longer than the stretch.
    """

    size: int
    summary: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.summary <= self.size:
            raise ConfigError(f"{self!r}: summary lies in 1 … size")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        same = i.div(self.size, rounding_mode="floor") == j.div(self.size, rounding_mode="floor")
        return (j <= i) & (same | (j % self.size >= self.size - self.summary))

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        i = torch.arange(start, start + queries)
        stretch = i // self.size
        own = (torch.minimum(i, torch.tensor(keys - 1)) - stretch * self.size + 1).clamp(min=0)
        whole = torch.minimum(stretch, torch.tensor(keys // self.size))
        rest = keys % self.size - (self.size - self.summary)  # of a stretch that the keys end in
        cut = max(0, rest) * (stretch > keys // self.size)
        return int((own + whole * self.summary + cut).sum())

    def cover(self) -> BoundingBand:
        return BoundingBand(None, 0)

    def __str__(self) -> str:
        return f"fixed:{self.size},{self.summary}"


@dataclass(frozen=True)
class Strided(Pattern):
    """Read the last `stride` positions, and each `stride`-th before them (arXiv:1904.10509 sec. 4.3).

    Args:
        stride: positions (l in the paper).

    Raises:
        ConfigError: If the stride is not positive.
    """

    stride: int

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise ConfigError(f"{self!r}: stride is at least 1")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        behind = i - j
        return (behind >= 0) & ((behind <= self.stride) | (behind % self.stride == 0))

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        i, last = torch.arange(start, start + queries), torch.tensor(keys - 1)
        near = (torch.minimum(i, last) - (i - self.stride).clamp(min=0) + 1).clamp(min=0)
        whole = i // self.stride  # steps back that stay at 0 or later
        skipped = torch.maximum(torch.tensor(1), (i - last + self.stride - 1) // self.stride - 1)  # beyond the last key
        return int((near + (whole - skipped).clamp(min=0)).sum())

    def cover(self) -> BoundingBand:
        return BoundingBand(None, 0)

    def __str__(self) -> str:
        return f"strided:{self.stride}"
