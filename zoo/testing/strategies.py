"""Random patterns and problems for property tests of attention, also for authors of backends; needs hypothesis.

Axes: b rows, q queries, k keys, h heads, g heads of keys and values, d, e head sizes.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.engine.dispatch import attend
from zoo.core.patterns.basic import Causal, Explicit
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.local import Chunk, Neighbourhood, Window
from zoo.core.patterns.padding import Keys, Lengths, Segments, Valid
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.patterns.sparse import Blocks, Fixed, Globals, Strided
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.normalizers import Kernel, Norm
from zoo.core.scoring.relative_bias import ALiBi, RelativeTable, Shaw, TransformerXL
from zoo.core.scoring.scores import Additive, General, LeakySum, Score

LONGEST = 9
"""Most queries and most keys of a random problem."""
LATEST = 4
"""Last position of the first query."""

Test = TypeVar("Test", bound=Callable[..., Any])
CASES = "ZOO_RANDOM_CASES"
"""Environment variable that says how many random cases each property test runs."""


def random_cases(usual: int) -> Callable[[Test], Test]:
    """Give the settings of a property test: so many cases, or as many as the variable `ZOO_RANDOM_CASES` says.

    Args:
        usual: cases that a fast test suite runs.
    """
    checks = [HealthCheck.filter_too_much, HealthCheck.too_slow]
    return settings(max_examples=int(os.environ.get(CASES, usual)), deadline=None, suppress_health_check=checks)


_few, _some = st.integers(0, 4), st.integers(1, 4)
_sets = st.lists(st.integers(0, LONGEST - 1), max_size=3).map(tuple)
_lists = st.lists(st.lists(st.integers(0, 4), max_size=4).map(tuple), min_size=1, max_size=5).map(tuple)
_windows = st.builds(Window, _few, _few, st.integers(1, 3))
_chunks = st.builds(Chunk, _some, _few)
_globals = st.builds(Globals, _sets)
_fixed = _some.flatmap(lambda size: st.builds(Fixed, st.just(size), st.integers(1, size)))
_blocks = st.builds(lambda size, rows: _long_enough(Blocks(size, rows)), _some, _lists)
_strided = st.builds(Strided, _some)
_grids = st.builds(Neighbourhood, st.integers(4, 5), st.integers(4, 5), st.integers(0, 2), st.integers(0, 2))


def _long_enough(pattern: Blocks) -> Blocks:
    """Repeat the blocks until each query of a random problem has one."""
    needed = -(-(LONGEST + LATEST) // pattern.size)
    repeated = pattern.reads * -(-needed // len(pattern.reads))
    return Blocks(pattern.size, repeated[:needed])


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
    head_dim: int = 8
    value_dim: int = 6
    positions: Tensor | None = None
    """Where the keys stand, (b, k); at 0, 1, 2, … if None."""
    kv_heads: int = 2
    score: str = "scaled_dot"
    needs: tuple[bool, ...] = ()
    """Which tensors need a gradient, the first ones first; those behind do."""
    factor: float = 1.0
    """By which queries, keys and values are multiplied: large ones are hard for half precision."""

    def shapes(self) -> list[tuple[int, ...]]:
        """Give the shapes of q (b, q, 4, d), k (b, k, g, d) and v (b, k, g, e), and of what bias and score hold."""
        b, q, k, g, d, e = self.batch, self.queries, self.length, self.kv_heads, self.head_dim, self.value_dim
        return [(b, q, 4, d), (b, k, g, d), (b, k, g, e), *_BIASES[self.bias](self), *_SCORES[self.score](self)]

    def tensors(self, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu") -> list[Tensor]:
        """Draw tensors of these shapes."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in self.shapes()]
        drawn[:3] = [x * self.factor for x in drawn[:3]]
        if self.score == "general":  # its scores are as large as scaled products, whatever the dtype can resolve
            drawn[-1] = drawn[-1] / 8
        exact = [x.to(torch.bfloat16) for x in drawn]  # in every dtype
        needed = [*self.needs, *[True] * (len(exact) - len(self.needs))]
        return [x.to(device, dtype).requires_grad_(need) for x, need in zip(exact, needed, strict=True)]

    def added(self, tensors: Sequence[Tensor]) -> tuple[Bias | None, str | Score]:
        """Make bias and score of `tensors`, as `Case.tensors` gives them."""
        of_bias = 3 + len(_BIASES[self.bias](self))
        bias = _MAKE[self.bias](tensors[3:of_bias], self) if self.bias else None
        return bias, _MAKE_SCORE[self.score](*tensors[of_bias:]) if self.score in _MAKE_SCORE else self.score

    def attend(self, tensors: Sequence[Tensor], **options: Any) -> Any:
        """Compute the answer of `tensors`, as `Case.tensors` gives them."""
        q, k, v, *_ = tensors
        places = None if self.positions is None else self.positions.to(q.device)
        bias, score = self.added(tensors)
        given = {"bias": bias, "score": score, "norm": self.norm, "q_start": self.start, "k_positions": places}
        return attend(q, k, v, self.pattern, self.keys, **{**given, "whole": False, **options})

    def mask(self) -> Tensor:
        """Return the mask of allowed pairs, (b, 4, q, k)."""
        b, q, k = self.batch, self.queries, self.length
        places = torch.arange(k) if self.positions is None else self.positions
        mask = self.pattern.mask(torch.arange(self.start, self.start + q)[None], places).expand(b, 4, q, k)
        if self.keys is not None:
            mask = mask & self.keys.valid(b, k, torch.device("cpu"))[:, None, None]
        if isinstance(self.keys, Segments):
            mask = mask & (self.keys.of_queries(q)[:, :, None] == self.keys.ids[:, None])[:, None]
        return mask & ~self.holes(q, k) if self.bias == "dense-holes" else mask

    def holes(self, *shape: int) -> Tensor:
        """Draw what a bias of -inf takes out: some of all, and all of the first row."""
        holes = torch.rand(shape, generator=torch.Generator().manual_seed(self.seed)) < 0.4
        holes[:1] = True
        return holes


_REACH = 3 * LONGEST
_BIASES: dict[str, Any] = {
    "": lambda case: [],
    **dict.fromkeys(("dense", "dense-holes"), lambda case: [(1, 4, case.queries, case.length)]),
    "table": lambda case: [(4, 7)],
    "alibi": lambda case: [(4,)],
    "transformer-xl": lambda case: [(4, case.head_dim), (4, case.head_dim), (4, 2 * _REACH + 1, case.head_dim)],
    "shaw": lambda case: [(1, 5, case.head_dim), (1, 5, case.value_dim)],
    **dict.fromkeys(("edges", "edges-holes"), lambda case: [(_count(case), 4)]),
    "edge-keys": lambda case: [(_count(case), 1), (_count(case), 4, case.head_dim)],
    "edge-values": lambda case: [
        (_count(case), 4),
        (_count(case), 1, case.head_dim),
        (_count(case), 4, case.value_dim),
    ],
}
_MAKE: dict[str, Any] = {
    "dense": lambda x, case: Dense(x[0]),
    "dense-holes": lambda x, case: Dense(
        x[0].masked_fill(case.holes(case.queries, case.length).to(x[0].device), -torch.inf)
    ),
    "table": lambda x, case: RelativeTable(x[0], 3),
    "alibi": lambda x, case: ALiBi(x[0]),
    "transformer-xl": lambda x, case: TransformerXL(x[0], x[1], x[2], -_REACH),
    "shaw": lambda x, case: Shaw(x[0], x[1], 2),
    **dict.fromkeys(("edges", "edge-keys", "edge-values"), lambda x, case: EdgeBias(case.pattern, *x)),
    "edges-holes": lambda x, case: EdgeBias(
        case.pattern, x[0].masked_fill(case.holes(_count(case), 1).to(x[0].device), -torch.inf)
    ),
}
_SCORES: dict[str, Any] = {
    "scaled_dot": lambda case: [],
    "dot": lambda case: [],
    "general": lambda case: [(4, case.head_dim, case.head_dim)],
    "additive": lambda case: [(4, 3, case.head_dim), (4, 3, case.head_dim), (4, 3)],
    "leaky": lambda case: [(4, case.head_dim)],
    "leaky-ones": lambda case: [],
}
_MAKE_SCORE: dict[str, Any] = {"general": General, "additive": Additive, "leaky": LeakySum, "leaky-ones": LeakySum}
_OF_EDGES = ["", "edges", "edges-holes", "edge-keys", "edge-values"]


def _count(case: Case) -> int:
    assert isinstance(case.pattern, Edges)
    return case.pattern.index.shape[1]


@st.composite
def cases(draw: Any, backend: str = "reference") -> Case:
    """Draw a problem that a backend can serve.

    Args:
        draw: given by hypothesis.
        backend: name of a backend; `reference` serves everything.
    """
    queries, length, start = (draw(st.integers(0, n)) for n in (LONGEST, LONGEST, LATEST))
    if backend == "strided" or draw(st.booleans()):
        length, start = queries, 0
    elif backend == "flash" and draw(st.booleans()):
        length = queries + start
    batch, seed = draw(st.integers(1, 2)), draw(st.integers(0, 999))
    generator = torch.Generator().manual_seed(seed)
    pattern = draw(_patterns(backend, queries, length, start, generator))
    keys = draw(st.sampled_from(_keys(backend, batch, queries, length, generator)))
    plain = [name for name in _SERVED_BIASES.get(backend, [""]) if not name.startswith("edge")]
    bias = draw(st.sampled_from(_OF_EDGES if backend in _ON_EDGES and isinstance(pattern, Edges) else plain))
    norm = Kernel() if backend == "linear" else "softmax"
    score = draw(st.sampled_from(_SERVED_SCORES.get(backend, _PRODUCTS))) if norm == "softmax" else "scaled_dot"
    given: dict[str, Any] = {"head_dim": 16, "value_dim": 16} if backend in ("flex", "flash") else {}
    if score.startswith("leaky") or backend == "linear":
        given = {"head_dim": draw(st.sampled_from([1, 8]))}
    positions = None
    if backend in _PLACED and draw(st.booleans()):
        positions = torch.randint(0, LONGEST + start, (batch, length), generator=generator)
        if not pattern.by_value:  # a mask is no larger than the set
            positions = positions.clamp(max=max(length - 1, 0))
    given |= {"score": score, "positions": positions, "kv_heads": draw(st.sampled_from([2, 4]))}
    if backend == "dense" and not isinstance(pattern, Edges) and draw(st.booleans()):  # computed in a way of its own
        pattern, keys, given["kv_heads"] = Full(), None, 4
    return Case(pattern, keys, batch, queries, length, start, seed, bias, norm, **given)


def needing(case: Case) -> st.SearchStrategy[Case]:
    """Draw which tensors of a problem need a gradient; at least one does."""
    each = [st.booleans() for _ in case.shapes()]
    return st.tuples(*each).filter(any).map(lambda drawn: replace(case, needs=drawn))


_SERVED_BIASES = {
    "reference": ["", "dense", "dense-holes", "table", "alibi", "transformer-xl", "shaw"],
    "explicit": ["", "dense", "dense-holes", "table", "alibi", "transformer-xl", "shaw"],
    "dense": ["", "dense", "dense-holes", "table", "alibi", "transformer-xl"],
    "banded": ["", "table", "alibi", "transformer-xl"],
}
_PRODUCTS = ["scaled_dot", "dot", "general"]
_SERVED_SCORES = {
    "reference": [*_SCORES],
    "explicit": [*_SCORES],
    "scatter": [*_SCORES],
    "edges": [*_PRODUCTS, "leaky", "leaky-ones"],
}
_ON_EDGES = ("reference", "explicit", "dense", "edges", "scatter")
_PLACED = ("reference", "explicit", "dense", "linear")


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
    if backend == "flash":
        return st.one_of(st.just(Full()), st.just(Causal()), st.builds(Window, _few, _few))
    random = torch.rand(start + queries, length, generator=generator) < 0.4
    random[:start] = False
    edges = Edges(random.nonzero().flip(1).T)
    if backend in ("edges", "scatter"):
        return st.just(edges)
    masks = [Explicit(random), Explicit(random) & Causal()]
    return st.one_of(patterns(), st.sampled_from(masks if backend == "flex" else [*masks, edges]))


def _keys(backend: str, batch: int, queries: int, length: int, generator: torch.Generator) -> list[Keys | None]:
    lengths = Lengths(torch.randint(0, length + 1, (batch,), generator=generator))
    some = Valid(torch.rand(batch, length, generator=generator) < 0.6)
    if backend in ("linear", "strided"):
        return [None, lengths, some]
    ids = torch.randint(-1, 3, (batch, length), generator=generator)
    if backend == "flash":
        return [None, lengths, some, Segments(ids.sort(1, descending=True).values)]
    return [None, lengths, some, Segments(ids, torch.randint(-1, 3, (batch, queries), generator=generator))]
