"""Groups of queries with similar key sets, which the gathered backend computes together.

Axes: n groups, s queries in a group, m keys of a group; -1 stands where a group has fewer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.patterns.local import Neighbourhood
from zoo.core.patterns.pattern import And, Or, Pattern
from zoo.core.patterns.sparse import Blocks, Fixed, Globals

KEPT = 1 << 23
"""Pairs up to which buckets are remembered: sixteen of them are 128 MiB at most."""
TILE = 8
"""Points along each side of a tile of a grid."""

Group = tuple[list[int], list[int]]
"""Positions of queries, and of all keys that any of them may read."""


@dataclass(frozen=True)
class Bucket:
    """Hold groups of about the same size.

    Args:
        queries: counted from the first query.
        keys: positions.
        allowed: what each query may read of its group's keys.
    """

    queries: Int[Tensor, "n s"]
    keys: Int[Tensor, "n m"]
    allowed: Bool[Tensor, "n s m"]


def groupable(pattern: Pattern) -> bool:
    """Tell whether a pattern has groups."""
    if isinstance(pattern, And):
        return groupable(pattern.left) or groupable(pattern.right)
    if isinstance(pattern, Or):
        return any(isinstance(b, Globals) and groupable(a) for a, b in _sides(pattern))
    return isinstance(pattern, Blocks | Fixed | Neighbourhood)


def _sides(pattern: And | Or) -> list[tuple[Pattern, Pattern]]:
    return [(pattern.left, pattern.right), (pattern.right, pattern.left)]


def groups(pattern: Pattern, keys: int, last: int) -> Iterator[Group]:
    """Give the groups of a pattern; each query is in at most one, and those in none read nothing.

    Args:
        pattern: one that is groupable.
        keys: number of keys.
        last: position behind the last query.
    """
    if isinstance(pattern, And):
        inner = pattern.left if groupable(pattern.left) else pattern.right
        yield from groups(inner, keys, last)
    elif isinstance(pattern, Or):
        inner, everywhere = next(
            pair for pair in _sides(pattern) if isinstance(pair[1], Globals) and groupable(pair[0])
        )
        assert isinstance(everywhere, Globals)
        yield from _with_globals(inner, everywhere.index, keys, last)
    elif isinstance(pattern, Blocks):
        for block, row in enumerate(pattern.reads):
            yield _span(block, pattern.size, last), [j for other in row for j in _span(other, pattern.size, keys)]
    elif isinstance(pattern, Fixed):
        for stretch in range(-(-last // pattern.size)):
            summaries = [_span(s, pattern.size, keys + pattern.size)[-pattern.summary :] for s in range(stretch)]
            before = [j for summary in summaries for j in summary if j < keys]
            yield _span(stretch, pattern.size, last), before + _span(stretch, pattern.size, keys)
    elif isinstance(pattern, Neighbourhood):
        yield from _tiles(pattern, keys, last)


def _span(block: int, size: int, last: int) -> list[int]:
    return list(range(block * size, min((block + 1) * size, last)))


def _with_globals(inner: Pattern, index: tuple[int, ...], keys: int, last: int) -> Iterator[Group]:
    columns = [g for g in index if g < keys]
    seen: set[int] = set(index)
    for queries, read in groups(inner, keys, last):
        seen.update(queries)
        own = set(read)
        yield [i for i in queries if i not in index], read + [g for g in columns if g not in own]
    yield [g for g in index if g < last], list(range(keys))
    yield [i for i in range(last) if i not in seen], columns


def _tiles(pattern: Neighbourhood, keys: int, last: int) -> Iterator[Group]:
    """Cut the grid into tiles; a tile reads itself and a frame of the radius."""
    prefix, reach = pattern.prefix, pattern.radius
    first = [j for j in range(prefix) if j < keys]

    def positions(top: int, bottom: int, left: int, right: int, end: int) -> list[int]:
        rows = range(max(0, top), min(bottom, pattern.height))
        columns = range(max(0, left), min(right, pattern.width))
        return [p for r, c in product(rows, columns) if (p := prefix + r * pattern.width + c) < end]

    yield [i for i in range(prefix) if i < last], list(range(keys))
    for top, left in product(range(0, pattern.height, TILE), range(0, pattern.width, TILE)):
        bottom, right = top + TILE, left + TILE
        around = positions(top - reach, bottom + reach, left - reach, right + reach, keys)
        yield positions(top, bottom, left, right, last), first + around


def lasting(pattern: Pattern) -> bool:
    """Tell whether what is found out may be remembered; dynamo does not see through a cache."""
    return pattern.by_value and not torch.compiler.is_compiling()


def counted(pattern: Pattern, queries: int, keys: int, start: int) -> tuple[int, int, int]:
    """Count the pairs that are computed, the keys that are copied, and the buckets."""
    found = _sorted(pattern, queries, keys, start)
    shapes = [(len(bucket), *_widths(bucket)) for bucket in found]
    return sum(n * s * m for n, s, m in shapes), sum(n * m for n, _, m in shapes), len(shapes)


def buckets(pattern: Pattern, queries: int, keys: int, start: int, device: torch.device) -> list[Bucket]:
    """Put groups whose number of keys is within a factor of 1.5 into one bucket, and say what they allow."""
    keep = lasting(pattern) and counted(pattern, queries, keys, start)[0] <= KEPT
    return (_cached if keep else _buckets)(pattern, queries, keys, start, device)


def _buckets(pattern: Pattern, queries: int, keys: int, start: int, device: torch.device) -> list[Bucket]:
    made = []
    for bucket in _sorted(pattern, queries, keys, start):
        s, m = _widths(bucket)
        i = torch.tensor([group[0] + [-1] * (s - len(group[0])) for group in bucket], device=device)
        j = torch.tensor([group[1] + [-1] * (m - len(group[1])) for group in bucket], device=device)
        inside = (i >= 0)[:, :, None] & (j >= 0)[:, None]
        allowed = inside & pattern.allows(i.clamp(min=0)[:, :, None], j.clamp(min=0)[:, None])
        made.append(Bucket(torch.where(i < 0, -1, i - start), j, allowed))
    return made


_cached = lru_cache(maxsize=16)(_buckets)


def _widths(bucket: list[Group]) -> tuple[int, int]:
    return max(len(queries) for queries, _ in bucket), max(len(keys) for _, keys in bucket)


def _sorted(pattern: Pattern, queries: int, keys: int, start: int) -> list[list[Group]]:
    return (_cached_sort if lasting(pattern) else _sort)(pattern, queries, keys, start)


def _sort(pattern: Pattern, queries: int, keys: int, start: int) -> list[list[Group]]:
    found = [([i for i in group if i >= start], read) for group, read in groups(pattern, keys, start + queries) if read]
    ordered = sorted((group for group in found if group[0]), key=lambda group: len(group[1]))
    result: list[list[Group]] = []
    for group in ordered:
        if not result or len(group[1]) > 1.5 * len(result[-1][0][1]):
            result.append([])
        result[-1].append(group)
    return result


_cached_sort = lru_cache(maxsize=64)(_sort)
