"""Dilated windows as dense ones: positions of one residue form a sequence, and residues are folded into the batch.

Queries and keys whose positions differ by a multiple of the dilation meet only each other, so they become a row of
their own, and a dilated window costs its pairs and nothing between them.
Axes: see `zoo.core.backends.problem`.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.backends.problem import Call, Problem
from zoo.core.patterns.local import Window
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.relative_bias import Relative


@dataclass(frozen=True, eq=False)
class DilatedBias(Relative):
    """Count the offsets of a bias in steps.

    Args:
        bias: whose offsets are positions.
        step: positions.
    """

    bias: Relative
    step: int

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        return self.bias.query(q)

    def band(
        self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
    ) -> Float[Tensor, "*#b h #q o"]:
        return self.bias.band(q, lowest * self.step, highest * self.step, scale)[..., :: self.step]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.bias.tensors


def dilation(pattern: Pattern) -> int:
    """Give the distance between the keys of a window, and 1 for every other pattern."""
    return pattern.dilation if isinstance(pattern, Window) else 1


def folded(problem: Problem) -> Problem:
    """Give the problem that `fold` makes of a call."""
    pattern, step = problem.pattern, dilation(problem.pattern)
    assert isinstance(pattern, Window)
    assert problem.start is not None
    return replace(
        problem,
        pattern=Window(pattern.left, pattern.right),
        batch=problem.batch * step,
        queries=-(-(problem.queries + problem.start % step) // step),
        keys=-(-problem.keys // step),
        start=problem.start // step,
        padded=problem.padded or problem.keys % step > 0,
    )


def fold(call: Call) -> Call:
    """Make a row of each residue."""
    pattern, step = call.pattern, dilation(call.pattern)
    assert isinstance(pattern, Window)
    assert isinstance(call.start, int)
    lead, length = call.start % step, call.k.shape[2]
    valid = call.valid
    if valid is None and length % step:
        valid = torch.ones(len(call.k), length, dtype=torch.bool, device=call.k.device)
    segments = None
    if call.segments is not None:
        of_queries, of_keys = call.segments
        segments = _apart(of_queries[..., None], step, lead)[..., 0], _apart(of_keys[..., None], step)[..., 0]
    bias = call.bias
    return replace(
        call,
        q=_apart(call.q, step, lead),
        k=_apart(call.k, step),
        v=_apart(call.v, step),
        pattern=Window(pattern.left, pattern.right),
        start=call.start // step,
        valid=None if valid is None else _apart(valid[..., None], step)[..., 0],
        bias=DilatedBias(bias, step) if isinstance(bias, Relative) else None,
        segments=segments,
    )


def unfold(y: Float[Tensor, "bs h n e"], call: Call) -> Float[Tensor, "b h q e"]:
    """Put the answers of `fold`'s rows in the order of the queries."""
    step = dilation(call.pattern)
    assert isinstance(call.start, int)
    lead = call.start % step
    together = y.unflatten(0, (-1, step)).permute(0, 2, 3, 1, 4).flatten(2, 3)
    return together[:, :, lead : lead + call.q.shape[2]]


def _apart(x: Shaped[Tensor, "b *h n d"], step: int, lead: int = 0) -> Shaped[Tensor, "bs *h m d"]:
    whole = pad(x, (0, 0, lead, -(lead + x.shape[-2]) % step))
    return whole.unflatten(-2, (-1, step)).movedim(-2, 1).flatten(0, 1)
