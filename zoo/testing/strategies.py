"""Random patterns and problems for property tests of attention, also for authors of backends; needs hypothesis.

Axes: b rows, q queries, k keys, h heads, g heads of keys and values, d, e head sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.bias import ALiBi, Dense, RelativeTable, Shaw, TransformerXL
from zoo.core.dispatch import attend
from zoo.core.edges import Edges
from zoo.core.keys import Keys, Lengths, Segments, Valid
from zoo.core.local import Chunk, Neighbourhood, Window
from zoo.core.norm import Kernel, Norm
from zoo.core.pattern import Causal, Explicit, Full, Pattern
from zoo.core.sparse import Blocks, Fixed, Globals, Strided

LONGEST = 9
"""Most queries and most keys of a random problem."""

_few, _some = st.integers(0, 4), st.integers(1, 4)
_sets = st.lists(st.integers(0, LONGEST - 1), max_size=3).map(tuple)
_lists = st.lists(st.lists(st.integers(0, 4), max_size=4).map(tuple), max_size=5).map(tuple)
_windows = st.builds(Window, _few, _few, st.integers(1, 3))
_chunks = st.builds(Chunk, _some, _few)
_globals = st.builds(Globals, _sets)
_fixed = _some.flatmap(lambda size: st.builds(Fixed, st.just(size), st.integers(1, size)))
_blocks = st.builds(Blocks, _some, _lists)
_strided = st.builds(Strided, _some)
_grids = st.builds(Neighbourhood, st.integers(4, 5), st.integers(4, 5), st.integers(0, 2), st.integers(0, 2))


def patterns() -> st.SearchStrategy[Pattern]:
    """Draw any pattern that is equal by value, alone or joined with others."""
    plain = st.one_of(st.just(Full()), st.just(Causal()), _windows, _chunks, _globals, _fixed, _blocks, _strided)
    return st.recursive(plain, _joined, max_leaves=3)


def _joined(parts: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.tuples(parts, parts, st.booleans()).map(lambda x: x[0] & x[1] if x[2] else x[0] | x[1])


def local_patterns() -> st.SearchStrategy[Pattern]:
    """Draw patterns of bounded reach, also with global positions or causal."""
    local = st.one_of(_windows, _chunks, _grids)
    more = st.one_of(st.just(Full()), st.just(Causal()), _windows)
    joined = st.tuples(local, more).map(lambda x: x[0] & x[1])
    return st.one_of(local, joined, st.tuples(joined, _globals).map(lambda x: x[0] | x[1]))


def grouped_patterns() -> st.SearchStrategy[Pattern]:
    """Draw patterns whose queries form groups."""
    plain = st.one_of(_blocks, _fixed, _grids)
    other = st.one_of(st.just(Full()), st.just(Causal()), _windows)
    joined = st.tuples(plain, other).map(lambda x: x[0] & x[1])
    return st.one_of(plain, joined, st.tuples(plain, _globals).map(lambda x: x[0] | x[1]))


@dataclass(frozen=True)
class Case:
    """Hold a random problem of attention."""

    pattern: Pattern
    keys: Keys | None
    batch: int
    queries: int
    length: int
    """Number of keys."""
    start: int
    seed: int
    bias: str = ""
    norm: Norm = "softmax"

    def tensors(self, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """Draw q (b, q, 4, 8), k (b, k, 2, 8) and v (b, k, 2, 6), and what the bias holds."""
        generator = torch.Generator().manual_seed(self.seed)
        b, q, k = self.batch, self.queries, self.length
        shapes = [(b, q, 4, 8), (b, k, 2, 8), (b, k, 2, 6), *_BIASES[self.bias](q, k)]
        drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        return [x.to(torch.bfloat16).to(dtype).requires_grad_() for x in drawn]  # exact in every dtype

    def attend(self, tensors: Sequence[Tensor], **options: Any) -> Any:
        """Compute the answer of `tensors`, as `Case.tensors` gives them."""
        q, k, v, *rest = tensors
        made = None if not rest else _MAKE[self.bias](rest, self.queries + self.length + self.start)
        given = {"bias": made, "norm": self.norm, "q_start": self.start, **options}
        return attend(q, k, v, self.pattern, self.keys, **given)

    def mask(self) -> Tensor:
        """Say who may read whom: (b, 4, q, k)."""
        b, q, k = self.batch, self.queries, self.length
        mask = self.pattern.mask(torch.arange(self.start, self.start + q)[None], torch.arange(k)).expand(b, 4, q, k)
        if self.keys is not None:
            mask = mask & self.keys.valid(b, k, torch.device("cpu"))[:, None, None]
        if isinstance(self.keys, Segments):
            mask = mask & (self.keys.of_queries(q)[:, :, None] == self.keys.ids[:, None])[:, None]
        return mask


_REACH = 3 * LONGEST
_BIASES: dict[str, Any] = {
    "": lambda q, k: [],
    "dense": lambda q, k: [(1, 4, q, k)],
    "table": lambda q, k: [(4, 7)],
    "alibi": lambda q, k: [(4,)],
    "transformer-xl": lambda q, k: [(4, 8), (4, 8), (4, 2 * _REACH + 1, 8)],
    "shaw": lambda q, k: [(1, 5, 8), (1, 5, 6)],
}
_MAKE: dict[str, Any] = {
    "dense": lambda x, reach: Dense(x[0]),
    "table": lambda x, reach: RelativeTable(x[0], 3),
    "alibi": lambda x, reach: ALiBi(x[0]),
    "transformer-xl": lambda x, reach: TransformerXL(x[0], x[1], x[2], -_REACH),
    "shaw": lambda x, reach: Shaw(x[0], x[1], 2),
}


@st.composite
def cases(draw: Any, backend: str = "reference") -> Case:
    """Draw a problem that a backend can serve.

    Args:
        draw: given by hypothesis.
        backend: name of a backend; `reference` serves everything.
    """
    queries, length, start = (draw(st.integers(0, n)) for n in (LONGEST, LONGEST, 4))
    if backend == "strided" or draw(st.booleans()):
        length, start = queries, 0
    batch, seed = draw(st.integers(1, 2)), draw(st.integers(0, 999))
    generator = torch.Generator().manual_seed(seed)
    pattern = draw(_patterns(backend, queries, length, start, generator))
    keys = draw(st.sampled_from(_keys(backend, batch, queries, length, generator)))
    bias = draw(st.sampled_from(_SERVED_BIASES.get(backend, [""])))
    norm = Kernel() if backend == "linear" else "softmax"
    return Case(pattern, keys, batch, queries, length, start, seed, bias, norm)


_SERVED_BIASES = {
    "reference": list(_BIASES),
    "explicit": list(_BIASES),
    "dense": ["", "dense", "table", "alibi", "transformer-xl"],
    "banded": ["", "table", "alibi", "transformer-xl"],
}


def _patterns(
    backend: str, queries: int, length: int, start: int, generator: torch.Generator
) -> st.SearchStrategy[Pattern]:
    if backend == "banded":
        return local_patterns()
    if backend == "gathered":
        return grouped_patterns()
    if backend == "strided":
        return _strided
    if backend == "linear":
        return st.sampled_from([Full(), Causal()])
    random = torch.rand(start + queries, length, generator=generator) < 0.4
    random[:start] = False
    edges = Edges(random.nonzero().flip(1).T)
    if backend in ("edges", "scatter"):
        return st.just(edges)
    return st.one_of(patterns(), st.sampled_from([Explicit(random), edges, Explicit(random) & Causal()]))


def _keys(backend: str, batch: int, queries: int, length: int, generator: torch.Generator) -> list[Keys | None]:
    lengths = Lengths(torch.randint(0, length + 1, (batch,), generator=generator))
    some = Valid(torch.rand(batch, length, generator=generator) < 0.6)
    if backend in ("linear", "strided"):
        return [None, lengths, some]
    sets = (torch.randint(-1, 3, (batch, n), generator=generator) for n in (length, queries))
    return [None, lengths, some, Segments(*sets)]
