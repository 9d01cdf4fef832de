"""Windowed attention in O(T·(C+w)): chunks of queries read the keys of their window, all chunks at once.

The window of Longformer (arXiv:2004.05150) with its dilated and global forms, chunks of streaming speech models
(arXiv:2010.11395), neighbourhoods (arXiv:1906.05909): every pattern that a band and a few columns and rows cover.
Axes: see `zoo.core.backends.problem`; c chunks of all rows, l places in a chunk, w keys of a window and columns.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.banded.bias import by_chunk, in_chunks
from zoo.core.backends.banded.dilation import dilation, fold, folded, unfold
from zoo.core.backends.banded.layout import Chunks, chunks
from zoo.core.backends.banded.masks import Masks, find_masks, of_heads, shared
from zoo.core.backends.banded.products import LOWEST, Band, Products
from zoo.core.backends.costs import Cost
from zoo.core.backends.dense import in_float32
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.ops.first_order import transforms_active
from zoo.core.ops.fused_attention import fused_attention
from zoo.core.patterns.pattern import Pattern


@dataclass(frozen=True)
class Shape:
    """Layout of one banded computation: chunks, global keys and queries, and chunks with masks of their own.

    Args:
        chunks: of queries.
        columns: positions of keys that are read from everywhere; they stand behind each window.
        rows: queries that read everywhere, counted from the first; they are computed apart.
        redone: chunks of a row that share no mask with the others.
    """

    chunks: Chunks
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    redone: tuple[int, ...]

    @classmethod
    def of(cls, pattern: Pattern, queries: int, keys: int, start: int, device: str) -> "Shape":
        """Choose a shape; there must be queries and keys."""
        cover = pattern.cover()
        columns = tuple(key for key in cover.keys if key < keys)
        rows = tuple(query - start for query in cover.queries if start <= query < start + queries)
        laid = chunks(pattern, queries, keys, start, device)
        begin, end = laid.whole
        redone = (*range(begin), *range(end, laid.count)) if shared(pattern, laid, columns) else ()
        return cls(laid, columns, rows, redone)


class Banded:
    """Compute attention over windows."""

    name = "banded"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if p.placed or p.start is None:
            return "it needs queries and keys at positions that follow each other, the same in all rows"
        if p.bias not in ("", "relative"):
            return f"it knows biases of the offset, and this one is {p.bias}"
        cover = p.pattern.cover()
        if cover.left is None or cover.right is None:
            return "no window bounds the pattern"
        return refused(p) if p.pattern.by_value else "it needs a pattern without tensors"

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        if dilation(p.pattern) > 1:
            cost = self.cost(folded(p))
            return replace(cost, rate=costs.DILATED * cost.rate)
        if not p.queries * p.keys * p.batch * p.heads:
            return Cost(0, p.vectors, "has nothing to compute")
        assert p.start is not None
        shape = Shape.of(p.pattern, p.queries, p.keys, p.start, p.device)
        laid, products = shape.chunks, p.device == "cpu" and bool(p.grad or p.dropout or p.bias or shape.columns)
        if products:
            windows = laid.filled(p.batch * p.heads // p.grouped) * p.grouped
        else:
            redone = 0 if p.padded or p.bias or p.batch == 1 else len(shape.redone) * p.batch  # see `in_place`
            windows = (laid.filled(p.batch) + redone) * p.heads
        pairs = windows * laid.size * (laid.width + len(shape.columns))
        whole = p.batch * p.heads * len(shape.rows) * p.keys
        stored = pairs // p.heads + (p.size * pairs if p.bias else 0) + (pairs if p.dropout else 0)
        speed = costs.BANDED_COLUMNS if shape.columns else costs.BANDED_PRODUCTS if products else costs.BANDED
        return Cost(
            flops=2 * (pairs + whole) * (p.head_dim + p.value_dim),
            bytes=2 * p.vectors + stored,
            why=f"computes chunks of {laid.size} queries against windows of {laid.width} keys",
            rate=speed.at(laid.width),
            calls=speed.calls,
        )

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        if dilation(call.pattern) > 1:
            return unfold(self.run(fold(call))[0], call), None
        if not call.q.shape[:3].numel() or not call.k.shape[2]:
            return fused_attention(call.q, call.k, call.v), None
        assert isinstance(call.start, int)
        shape = Shape.of(call.pattern, call.q.shape[2], call.k.shape[2], call.start, call.q.device.type)
        y = by_products(call, shape) if prefers_products(call, shape) else by_kernel(call, shape)
        if shape.rows:
            at = torch.tensor(shape.rows, device=y.device)
            y = y.index_copy(2, at, whole_rows(call, at).to(y.dtype))
        return y, None


def prefers_products(call: Call, shape: Shape) -> bool:
    """Tell whether plain products beat the fused kernel: on a CPU, where gradients, dropout or a bias are wanted.

    Forward and backward at T = 4000, 4 heads of 64, 16 keys to each side, one thread: 25 ms against 50; forward alone,
    5.2 ms with the kernel against 6.3.
    """
    if call.q.device.type != "cpu" or torch.compiler.is_compiling() or transforms_active():
        return False
    return call.needs_grad or call.dropout > 0 or call.bias is not None or bool(shape.columns)


def by_products(call: Call, shape: Shape) -> Float[Tensor, "b h q e"]:
    """Compute all windows as blocks of products; see `Products`."""
    call = in_float32(call)
    laid, (rows, groups) = shape.chunks, call.k.shape[:2]
    repeats = call.q.shape[1] // groups
    q, k, v = call.queries, call.k, call.v
    found = find_masks(call, laid, shape.columns)
    bias = bias_of = None
    if call.bias is not None:
        added = in_chunks(call, laid, shape.columns, LOWEST)
        bias = added.unflatten(1, (groups, repeats)).flatten(2, 3).flatten(0, 1)
        steps = laid.count + laid.gap
        of_row = torch.arange(rows * steps, device=q.device).view(rows, 1, steps)
        of_row = torch.where(of_row % steps < laid.count, of_row, 0) * (len(added) > 1)
        every = of_row * groups + torch.arange(groups, device=q.device)[:, None]
        bias_of = every.flatten()[: laid.filled(rows * groups)]
    band = Band(
        chunks=laid,
        rows=rows * groups,
        masks=found.masks,
        mask_of=of_heads(found, rows, groups, laid),
        empties=found.empties,
        bias_of=bias_of,
        scale=call.scale,
        dropout=call.dropout,
    )
    columns = [_columns(x, shape).flatten(0, 1) for x in (k, v)]
    slots = [laid.slots(x.flatten(0, 1)) for x in (k, v)]
    chunked = laid.split(q.unflatten(1, (groups, repeats)).flatten(0, 1))
    y: Tensor = Products.apply(chunked, *slots, *columns, bias, band)
    return laid.join(y, rows * groups, repeats).unflatten(0, (rows, groups)).flatten(1, 2)


def _columns(x: Float[Tensor, "b g k d"], shape: Shape) -> Float[Tensor, "b g n d"]:
    return x[:, :, list(shape.columns)] if shape.columns else x.new_empty(*x.shape[:2], 0, x.shape[3])


def by_kernel(call: Call, shape: Shape) -> Float[Tensor, "b h q e"]:
    """Compute all windows in one call of PyTorch's kernel; chunks at the ends, which share no mask, in a second."""
    laid, rows = shape.chunks, len(call.q)
    count = laid.filled(rows)
    found = find_masks(call, laid, shape.columns)
    mask_of = found.of_chunk.expand(rows, -1).flatten()[:count]
    q = by_chunk(call.queries, laid)[:count]
    if rows == 1 and shape.redone and call.valid is None and call.bias is None:
        return _joined(call, shape, in_place(call, shape, q, found))
    k, v = (_windows(x, shape) for x in (call.k, call.v))
    if call.bias is not None:
        closed = found.masks[mask_of][:, None]
        added = in_chunks(call, laid, shape.columns, float("-inf"))[:count].masked_fill(closed, float("-inf"))
        y = _kernel(call, q, k, v, added)
    elif shape.redone and call.valid is None:
        y = _kernel(call, q, k, v, ~found.masks[0])
        steps = laid.count + laid.gap
        at = torch.tensor([row * steps + chunk for row in range(rows) for chunk in shape.redone], device=q.device)
        ends = _kernel(call, q[at], k[at], v[at], ~found.masks[mask_of[at]][:, None])
        y = y.index_copy(0, at, ends) if y.requires_grad else y.index_copy_(0, at, ends)  # the kernel keeps its answer
    else:
        y = _kernel(call, q, k, v, ~found.masks[mask_of][:, None])
    return _joined(call, shape, y)


def in_place(call: Call, shape: Shape, q: Float[Tensor, "c h l d"], found: Masks) -> Float[Tensor, "c h l e"]:
    """Compute the windows of one row: those inside the keys where the keys lie, those at the ends on copies."""
    laid, (begin, end) = shape.chunks, shape.chunks.whole
    at = torch.tensor(shape.redone, device=q.device)
    index = laid.first + laid.size * at[:, None] + torch.arange(laid.width, device=q.device)

    def of_keys(x: Tensor) -> tuple[Tensor, Tensor]:
        by_key = x[0].transpose(0, 1)
        windows = by_key[max(0, laid.first + begin * laid.size) :].unfold(0, laid.width, laid.size)
        return windows[: end - begin].transpose(2, 3), by_key[index.clamp(0, laid.keys - 1)].transpose(1, 2)

    (k, k_ends), (v, v_ends) = of_keys(call.k), of_keys(call.v)
    y = _kernel(call, q[begin:end], k, v, ~found.masks[0])
    y_ends = _kernel(call, q[at], k_ends, v_ends, ~found.masks[found.of_chunk[0, at]][:, None])
    parts = (y_ends[:begin], y, y_ends[begin:])
    return torch.cat([part.transpose(1, 2) for part in parts]).transpose(1, 2)  # in the order the kernel answers


def _joined(call: Call, shape: Shape, y: Float[Tensor, "c h l e"]) -> Float[Tensor, "b h q e"]:
    y = shape.chunks.join(y.transpose(1, 2).flatten(2), len(call.q))[:, 0]
    return y.unflatten(2, (call.q.shape[1], -1)).transpose(1, 2)


def _windows(x: Float[Tensor, "b g k d"], shape: Shape) -> Float[Tensor, "c g w d"]:
    """Give each chunk what it may read: a view, unless there are columns."""
    groups, d = x.shape[1], x.shape[3]
    flat = x.transpose(1, 2).flatten(2)
    windows = shape.chunks.windows(shape.chunks.slots(flat))
    if shape.columns:
        steps = shape.chunks.count + shape.chunks.gap
        far = flat[:, list(shape.columns)].repeat_interleave(steps, dim=0)[: len(windows)]
        windows = torch.cat([windows, far], 1)
    return windows.unflatten(2, (groups, d)).transpose(1, 2)


def _kernel(call: Call, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Float[Tensor, "c h l e"]:
    return fused_attention(q, k, v, mask, dropout=call.dropout, scale=call.scale)


def whole_rows(call: Call, at: Int[Tensor, " n"]) -> Float[Tensor, "b h n e"]:
    """Compute the attention of queries that attend to every key, such as global tokens."""
    assert isinstance(call.start, int)
    i = call.start + at
    mask: Bool[Tensor, "#b 1 n k"] = call.pattern.allows(i[:, None], call.j)[None, None]
    if call.valid is not None:
        mask = mask & call.valid[:, None, None]
    if call.segments is not None:
        mask = mask & (call.segments[0][:, at, None] == call.segments[1][:, None])[:, None]
    if call.bias is not None:
        mask = call.bias.scores(call.q[:, :, at], i[None], call.j, call.scale).masked_fill(~mask, float("-inf"))
    return _kernel(call, call.queries[:, :, at], call.k, call.v, mask)


BACKEND = Banded()
