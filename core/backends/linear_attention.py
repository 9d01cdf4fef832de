"""Attention with a kernel instead of the softmax, in time linear in the length (arXiv:2006.16236).

Sums of phi(k) vᵀ stand for the keys: one over all of them, or running sums by chunks where attention is causal. The
normaliser, the sum of phi(k), rides along as one more column of the values. Step by step:
`zoo.core.cache.linear_state`.
Axes: b rows, h heads, g heads of keys and values, r query heads for each, q queries, k keys, n of both, f features,
e values, c values and the normaliser.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.pattern import Full
from zoo.core.scoring.normalizers import Kernel, divided, upcast

CHUNK = 64
"""Queries that are compared pair by pair; more of them cost products, fewer cost sums that are kept."""
SEGMENT = 16 * CHUNK
"""Queries whose chunks are computed at once: their tensors stay in the cache of a processor, however long the rows."""


class Linear:
    """Compute attention with a `Kernel` norm, over all keys or causally."""

    name = "linear"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if not isinstance(p.norm, Kernel):
            return f"it knows only a Kernel, not {p.norm}"
        if not isinstance(p.pattern, Full | Causal):
            return f"its sums are over all keys or all up to the query, not {type(p.pattern).__name__}"
        if p.packed:
            return "its sums do not stop at the end of a segment"
        if isinstance(p.pattern, Causal) and (p.start is None or p.placed):
            return "its running sums need keys at 0, 1, 2, … and one start for all rows"
        if p.bias or p.score not in ("dot", "scaled_dot"):
            return f"it has no scores, so nothing to use {p.bias or p.score} for"
        return "it has no weights to give or to drop" if p.weights or p.dropout else None

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`; products inside phi are not counted."""
        p = problem
        assert isinstance(p.norm, Kernel)
        f, c = p.norm.width(p.head_dim, p.dtype, p.device), p.value_dim + 1
        heads = p.batch * p.heads // p.grouped if p.queries and p.keys else 0  # `attend` keeps empty sets to itself
        size = max(p.size, 4)
        if isinstance(p.pattern, Full):
            each = p.keys + p.grouped * p.queries
            what = "sums phi(k) v over all keys"
            return Cost(2 * heads * f * c * each, p.vectors + size * heads * each * (f + c), what, *costs.LINEAR[:2])
        assert p.start is not None
        chunks, length = cut(p.queries)
        queries = p.grouped * chunks * length
        before = min(max(p.start, 0), p.keys)
        summed = before + max(chunks - 1, 0) * length
        flops = 2 * heads * (queries * length * (f + c) + (queries + summed) * f * c)
        kept = heads * (queries * (f + length + 2 * c) + p.keys * (f + c) + 2 * chunks * f * c)
        return Cost(flops, p.vectors + size * kept, f"runs sums over chunks of {length}", *costs.LINEAR_CAUSAL[:2])

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        assert isinstance(call.norm, Kernel)
        if isinstance(call.pattern, Full):
            q = query_features(call.norm, call.q, call.k.shape[1])
            return divide(read(q, total(*key_features(call.norm, call.k, call.v, call.valid)))), None
        return _causal(call, call.norm), None


def _causal(call: Call, norm: Kernel) -> Float[Tensor, "b h q e"]:
    """Let each query read the keys up to its own, a segment of queries at a time.

    Features are made by segments, too: those of a whole long row are new memory at each step between them.
    """
    start, n, heads = call.start, call.q.shape[2], call.k.shape[1]
    assert isinstance(start, int)
    before = total(*_keys(call, norm, 0, max(start, 0)))
    answers: list[Tensor] = []  # not `list[Tensor]()`, at which the compiler stops
    for first in range(0, max(n, 1), SEGMENT):
        q = query_features(norm, call.q[:, :, first : first + SEGMENT], heads)
        at, count = start + first, q.shape[3]
        k, v = (_behind(x, max(-at, 0), count) for x in _keys(call, norm, max(at, 0), max(at + count, 0)))
        y, sums = _segment(q, k, v, before)
        if first + SEGMENT < n:
            before = sums + total(k[:, :, -CHUNK:], v[:, :, -CHUNK:])
        answers.append(divide(y))
    return answers[0] if len(answers) == 1 else torch.cat(answers, 2)


def _keys(call: Call, norm: Kernel, first: int, end: int) -> tuple[Float[Tensor, "b g n f"], Float[Tensor, "b g n c"]]:
    valid = None if call.valid is None else call.valid[:, first:end]
    return key_features(norm, call.k[:, :, first:end], call.v[:, :, first:end], valid)


def _behind(x: Float[Tensor, "b g k f"], front: int, n: int) -> Float[Tensor, "b g n f"]:
    """Give n places: zeros in front, what there is, and zeros behind it."""
    front = min(front, n)
    return pad(x, (0, 0, front, n - front - x.shape[2]))


def query_features(norm: Kernel, q: Float[Tensor, "b h q d"], heads: int) -> Float[Tensor, "b g r q f"]:
    """Apply the feature map to the queries, grouped by their head of keys."""
    return norm.features(upcast(q)).unflatten(1, (heads, -1))


def key_features(
    norm: Kernel, k: Float[Tensor, "b g k d"], v: Float[Tensor, "b g k e"], valid: Bool[Tensor, "b k"] | None
) -> tuple[Float[Tensor, "b g k f"], Float[Tensor, "b g k c"]]:
    """Apply the feature map to the keys, 0 at padding, and add a column of ones to the values."""
    k = norm.features(upcast(k))
    k = k if valid is None else k.masked_fill(~valid[:, None, :, None], 0)
    return k, pad(upcast(v), (0, 1), value=1.0)


def total(k: Float[Tensor, "*b n f"], v: Float[Tensor, "*b n c"]) -> Float[Tensor, "*b f c"]:
    """Sum phi(k) vᵀ."""
    return k.mT @ v


def read(q: Float[Tensor, "b g r q f"], sums: Float[Tensor, "b g f c"]) -> Float[Tensor, "b g r q c"]:
    """Non-causal linear attention: every query uses the same sums of keys and values."""
    return (q.flatten(2, 3) @ sums).unflatten(2, q.shape[2:4])


def divide(y: Float[Tensor, "b g r q c"]) -> Float[Tensor, "b h q e"]:
    """Divide by the normaliser, and join the groups of heads."""
    return divided(y.flatten(1, 2))


def cut(n: int) -> tuple[int, int]:
    """Give the number of chunks and their length; they are as equal as can be, so little is padded."""
    chunks = -(-n // CHUNK)
    return chunks, -(-n // max(chunks, 1))


def running(
    q: Float[Tensor, "b g r n f"],
    k: Float[Tensor, "b g n f"],
    v: Float[Tensor, "b g n c"],
    before: Float[Tensor, "b g f c"],
) -> Float[Tensor, "b g r n c"]:
    """Let each query read the keys up to its own and those summed up before: tril(q kᵀ) v + q S, chunk by chunk."""
    if q.shape[3] <= SEGMENT:
        return _segment(q, k, v, before)[0]
    read = []
    for queries, keys, values in zip(q.split(SEGMENT, 3), k.split(SEGMENT, 2), v.split(SEGMENT, 2), strict=True):
        y, sums = _segment(queries, keys, values, before)
        before = sums + total(keys[:, :, -CHUNK:], values[:, :, -CHUNK:])
        read.append(y)
    return torch.cat(read, 3)


def _segment(
    q: Float[Tensor, "b g r n f"],
    k: Float[Tensor, "b g n f"],
    v: Float[Tensor, "b g n c"],
    before: Float[Tensor, "b g f c"],
) -> tuple[Float[Tensor, "b g r n c"], Float[Tensor, "b g f c"]]:
    """Give what `running` gives for tokens whose chunks are computed at once, and the sums before the last chunk."""
    r, n = q.shape[2:4]
    if not n:
        return q.new_zeros(*q.shape[:4], v.shape[-1]), before
    chunks, length = cut(n)
    behind = (0, 0, 0, chunks * length - n)
    q, k, v = (pad(x, behind).unflatten(-2, (chunks, length)) for x in (q, k, v))
    q = q.transpose(2, 3).flatten(3, 4)
    pairs = (q @ k.mT).unflatten(3, (r, length)).tril().flatten(3, 4)
    sums = torch.cat([before[:, :, None], total(k[:, :, :-1], v[:, :, :-1])], dim=2).cumsum(2)
    y = pairs @ v + q @ sums
    return y.unflatten(3, (r, length)).transpose(2, 3).flatten(3, 4)[:, :, :, :n], sums[:, :, -1]


BACKEND = Linear()
