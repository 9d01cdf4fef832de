"""Local patterns: windows and chunks on a line, neighbourhoods on a grid.

Axes: see `zoo.core.patterns.pattern`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.core.patterns.pattern import BoundingBand, Pattern, ShapeInfo


@dataclass(frozen=True)
class Window(Pattern):
    """Let the query at i read the keys from i - left·dilation to i + right·dilation, in steps of the dilation.

    arXiv:2004.05150 sec. 3.1 (sliding and dilated windows).

    Args:
        left: steps back.
        right: steps ahead; as many as back if None.
        dilation: distance between the keys that are read, positions.

    Raises:
        ConfigError: If a number is negative, or the dilation not positive.
    """

    left: int
    right: int = None  # type: ignore[assignment]
    dilation: int = 1

    def __post_init__(self) -> None:
        if self.right is None:
            object.__setattr__(self, "right", self.left)
        if not all(isinstance(n, int) for n in (self.left, self.right, self.dilation)):
            raise ConfigError(f"{self!r}: left, right and dilation are whole numbers")
        if self.left < 0 or self.right < 0 or self.dilation < 1:
            raise ConfigError(f"{self!r}: left and right are at least 0, dilation at least 1")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        offset = j - i
        near = (offset >= -self.left * self.dilation) & (offset <= self.right * self.dilation)
        return near if self.dilation == 1 else near & (offset % self.dilation == 0)

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        i = torch.arange(start, start + queries)
        back = torch.minimum(i // self.dilation, torch.tensor(self.left))
        first = i - back * self.dilation
        last = torch.minimum(i + self.right * self.dilation, torch.tensor(keys - 1))
        return int(((last - first).div(self.dilation, rounding_mode="floor") + 1).clamp(min=0).sum())

    def cover(self) -> BoundingBand:
        return BoundingBand(self.left * self.dilation, self.right * self.dilation)

    def __str__(self) -> str:
        if self.dilation > 1:
            return f"window:{self.left},{self.right},{self.dilation}"
        return f"window:{self.left}" if self.left == self.right else f"window:{self.left},{self.right}"


@dataclass(frozen=True)
class Chunk(Pattern):
    """Let each query read its own chunk and so many before it, as streaming speech models do (arXiv:2010.11395).

    Emformer (arXiv:2010.10759) reads so where its left context is whole segments. Its right context are copies of the
    frames that follow on a segment, which stand behind it and which it alone reads: as a set with the copies in it, and
    an `Explicit` of these. Its memory, means of earlier segments, is not here.

    Args:
        size: positions in a chunk.
        left_chunks: chunks before.

    Raises:
        ConfigError: If the size is not positive or the number of chunks negative.
    """

    size: int
    left_chunks: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.left_chunks < 0:
            raise ConfigError(f"{self!r}: size is at least 1, left_chunks at least 0")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        behind = i.div(self.size, rounding_mode="floor") - j.div(self.size, rounding_mode="floor")
        return (behind >= 0) & (behind <= self.left_chunks)

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        chunk = torch.arange(start, start + queries) // self.size
        first = (chunk - self.left_chunks).clamp(min=0) * self.size
        last = ((chunk + 1) * self.size).clamp(max=keys)
        return int((last - first).clamp(min=0).sum())

    def cover(self) -> BoundingBand:
        return BoundingBand((self.left_chunks + 1) * self.size - 1, self.size - 1)

    def __str__(self) -> str:
        return f"chunk:{self.size},{self.left_chunks}" if self.left_chunks else f"chunk:{self.size}"


@dataclass(frozen=True)
class Neighbourhood(Pattern):
    """Let each point of a grid read the points at most `radius` rows and columns away (arXiv:1906.05909 sec. 3.1).

    Positions count the grid row by row. At the border a point reads fewer; it does not shift its square as
    arXiv:2204.07143 does.

    Args:
        height: rows of the grid.
        width: columns of the grid.
        radius: rows and columns to each side.
        prefix: positions before the grid, such as a class token: they read all and are read by all.

    Raises:
        ConfigError: If the grid is empty, or radius or prefix negative.
    """

    height: int
    width: int
    radius: int
    prefix: int = 0

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1 or self.radius < 0 or self.prefix < 0:
            raise ConfigError(f"{self!r}: height and width are at least 1, radius and prefix at least 0")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        a, b = i - self.prefix, j - self.prefix
        rows = (a.div(self.width, rounding_mode="floor") - b.div(self.width, rounding_mode="floor")).abs()
        columns = (a % self.width - b % self.width).abs()
        near = (rows <= self.radius) & (columns <= self.radius)
        near = near | (a < 0) | (b < 0) if self.prefix else near
        size = self.height * self.width
        return near & (i >= 0) & (j >= 0) & (a < size) & (b < size)

    def misfit(self, extent: ShapeInfo) -> str | None:
        """See `Pattern.misfit`; a grid may be read and written row by row, unless there are always so many."""
        size = self.prefix + self.height * self.width
        before = f" behind {self.prefix}" if self.prefix else ""
        shown = f"{self} is a grid of {self.height} x {self.width}{before}: {size} positions"
        if extent.fixed:
            return None if extent.keys == size else f"{shown}, and there are {extent.keys}"
        if extent.keys > size or (extent.queries and extent.end > size):
            return f"{shown}; got {extent.queries} queries from {extent.start} on and {extent.keys} keys"
        return None

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        """See `Pattern.pairs`; a whole grid is counted without looking at its pairs."""
        size = self.height * self.width
        if start or queries != keys or keys != size + self.prefix:
            return super().pairs(queries, keys, start)
        along = [Window(self.radius).pairs(n, n) for n in (self.height, self.width)]
        return along[0] * along[1] + self.prefix * (2 * size + self.prefix)

    def cover(self) -> BoundingBand:
        reach = self.radius * (self.width + 1)
        first = tuple(range(self.prefix))
        return BoundingBand(reach, reach, first, first)

    def __str__(self) -> str:
        tail = f",{self.prefix}" if self.prefix else ""
        return f"neighbourhood:{self.height},{self.width},{self.radius}{tail}"
