"""The canonical form of a pattern: patterns that allow the same pairs become equal, where that can be told."""

from functools import reduce

import torch

from zoo.core.patterns.basic import Causal
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.local import Chunk, Window
from zoo.core.patterns.pattern import And, Full, Or, Pattern
from zoo.core.patterns.sparse import Globals


def canonical(
    pattern: Pattern, queries: int | None = None, keys: int | None = None, start: int | None = None
) -> Pattern:
    """Simplify a pattern without changing what it allows.

    Causal & Window(l, r) is Window(l, 0); Chunk(1, l) is Window(l, 0); with the lengths given, a window that reaches
    everything is Full, one that reaches the whole past and nothing ahead is Causal, and Edges | Globals are Edges.

    Args:
        pattern: any pattern.
        queries: how many queries there are; None if the form must hold for any number.
        keys: how many keys there are.
        start: position of the first query.
    """
    if type(pattern) is Full:
        return pattern
    if isinstance(pattern, And):
        pattern = _joined(pattern, And)
    elif isinstance(pattern, Or):
        pattern = _joined(pattern, Or)
    elif isinstance(pattern, Chunk) and pattern.size == 1:
        pattern = Window(pattern.left_chunks, 0)
    if queries is None or keys is None or start is None:
        return pattern
    if isinstance(pattern, Or):
        return _as_edges(pattern, queries, keys, start)
    if isinstance(keys, torch.SymInt) or not isinstance(pattern, Window | Causal):  # a program is for any length
        return pattern
    return _fitted(pattern, queries, keys, start)


def by_offset(pattern: Pattern) -> bool:
    """Tell whether a pattern knows only how far apart query and key stand."""
    if isinstance(pattern, And | Or):
        return by_offset(pattern.left) and by_offset(pattern.right)
    return isinstance(pattern, Full | Causal | Window)


def _joined(pattern: And | Or, kind: type[And] | type[Or]) -> Pattern:
    """Flatten nested joins of one kind, simplify the parts, and merge those that have a common form."""
    merge = _both if kind is And else _either
    kept: list[Pattern] = []
    for part in map(canonical, _flat(pattern, kind)):
        for index, other in enumerate(kept):
            merged = merge(other, part)
            if merged is not None:
                kept[index] = merged
                break
        else:
            kept.append(part)
    return reduce(kind, kept)


def _flat(pattern: Pattern, kind: type[And] | type[Or]) -> list[Pattern]:
    return [*_flat(pattern.left, kind), *_flat(pattern.right, kind)] if isinstance(pattern, kind) else [pattern]


def _both(a: Pattern, b: Pattern) -> Pattern | None:
    if a == b or isinstance(b, Full):
        return a
    if isinstance(a, Full):
        return b
    if isinstance(a, Window) and isinstance(b, Window) and a.dilation == b.dilation:
        return Window(min(a.left, b.left), min(a.right, b.right), a.dilation)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Causal) and isinstance(other, Window):
            return Window(other.left, 0, other.dilation)
    return None


def _either(a: Pattern, b: Pattern) -> Pattern | None:
    if a == b or isinstance(a, Full):
        return a
    if isinstance(b, Full):
        return b
    if isinstance(a, Window) and isinstance(b, Window) and a.dilation == b.dilation:
        return Window(max(a.left, b.left), max(a.right, b.right), a.dilation)
    if isinstance(a, Globals) and isinstance(b, Globals):
        return Globals(a.index + b.index)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Causal) and isinstance(other, Window) and other.right == 0:
            return one
    return None


def _as_edges(pattern: Or, queries: int, keys: int, start: int) -> Pattern:
    """Make one graph of a graph and positions that read all and are read by all."""
    for edges, others in ((pattern.left, pattern.right), (pattern.right, pattern.left)):
        if isinstance(edges, Edges) and isinstance(others, Globals):
            return edges.with_globals(others.index, queries, keys, start)
    return pattern


def _fitted(pattern: Window | Causal, queries: int, keys: int, start: int) -> Pattern:
    """Replace a window or causality that reaches everything there is."""
    last = start + queries - 1
    if isinstance(pattern, Window):
        if pattern.dilation > 1 or pattern.left < last:
            return pattern
        if pattern.right == 0:
            pattern = Causal()
    ahead = pattern.right if isinstance(pattern, Window) else 0
    return Full() if start + ahead >= keys - 1 else pattern
