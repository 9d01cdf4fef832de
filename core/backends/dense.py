"""Dense attention: PyTorch's `scaled_dot_product_attention`, or matrix products where those are faster."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.dense_training import Blockwise
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.ops.autocast import no_autocast
from zoo.core.ops.bfloat16 import fast_bfloat16, fast_vectors
from zoo.core.ops.first_order import only_once, transforms_active
from zoo.core.ops.fused_attention import fused_attention
from zoo.core.ops.onednn import traced
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.pattern import Full
from zoo.core.scoring.relative_bias import Relative

LONGEST_PRODUCT = 1024
"""Keys, and queries where no gradient is wanted, up to which plain products may hold all weights of a head."""
SCORES = 1 << 20
"""Scores that are computed at once where no gradient is wanted, 2 MiB in bfloat16, but a head for each thread."""
FEWEST, NARROWEST = 1 << 16, 32
"""Scores of all rows and heads, and channels of a head, from which on products without gradients are faster."""
QUERIES = 100
"""Queries, at least, whose bias by offsets is made at once where no gradient is wanted."""


class Dense:
    """Compute attention over all pairs."""

    name = "dense"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        return refused(problem)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = p.batch * p.heads * p.queries * p.keys
        stored = p.size * pairs if p.bias or (p.grad and p.dropout) else 0
        masked = p.pattern != Full() or p.padded or p.packed or p.bias
        speed = costs.DENSE if masked else costs.DENSE_FULL
        flops = 2 * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors + stored, "computes every pair at once", *speed[:2], masked=p.masked)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        if (trained := in_blocks(call)) is not None:
            return trained, None
        if prefers_products(call):
            precise = in_float32(call)
            q, k, v = (x.flatten(0, 1) for x in (precise.queries, precise.k, precise.v))
            added = precise.added()
            if added is not None:
                added = added.expand(*call.q.shape[:2], -1, -1).flatten(0, 1)
            y = _Products.apply(q, k, v, added, call.scale) if call.needs_grad else by_heads(q, k, v, call.scale)
            return y.to(call.v.dtype).unflatten(0, call.q.shape[:2]), None
        if has_band(call):
            n = call.q.shape[2]
            step = -(-n // (n // QUERIES))
            parts = [fused(call.part(at, min(at + step, n))).transpose(1, 2) for at in range(0, n, step)]
            return torch.cat(parts, 1).transpose(1, 2), None  # as the kernel lays them, heads beside each other
        return fused(call), None


def fused(call: Call) -> Float[Tensor, "b h q e"]:
    """Attend by PyTorch's kernel."""
    causal = is_only_causal(call)
    mask = None if causal else additive(call)
    return fused_attention(call.queries, call.k, call.v, mask, dropout=call.dropout, causal=causal, scale=call.scale)


def has_band(call: Call) -> bool:
    """Tell whether a bias by offsets is made for some queries at a time: all meet twice as many offsets as one does.

    On a CPU where no gradient is wanted. Forward at (4, 4 heads, 400, 36), one thread of an AMD EPYC with AVX2, a whole
    Conformer: 0.93 of the time with the bias as a whole, by 64 queries 0.97, by 134 0.98.
    """
    return (
        isinstance(call.bias, Relative)
        and isinstance(call.start, int)
        and call.key_positions is None
        and call.q.device.type == "cpu"
        and call.q.shape[2] >= 2 * QUERIES
        and not call.needs_grad
        and not torch.compiler.is_compiling()
        and not transforms_active()
    )


def is_only_causal(call: Call) -> bool:
    """Tell whether the kernel's own causal mask, aligned to the top left, is all that is asked for."""
    return (
        call.pattern == Causal()
        and call.q.shape[2] == call.k.shape[2]
        and isinstance(call.start, int)
        and call.start == 0
        and all(part is None for part in (call.valid, call.bias, call.segments, call.key_positions))
    )


def in_blocks(call: Call) -> Float[Tensor, "b h q e"] | None:
    """Train with a bias that is a product, such as Transformer-XL's; None where this is not asked for.

    Forward and backward at (4, 4 heads, 400, 36), one thread: 0.75 of the time with the bias as a whole.
    """
    bias, start = call.bias, call.start
    if not (isinstance(bias, Relative) and isinstance(start, int) and call.needs_grad and may_multiply(call)):
        return None
    if call.segments is not None or call.key_positions is not None or (spans := spans_of(call)) is None:
        return None
    precise = in_float32(call)
    q, k, v = precise.q, precise.k, precise.v
    factors = bias.factors(q, -(start + q.shape[2] - 1), k.shape[2] - 1 - start)
    if factors is None:
        return None
    y: Tensor = Blockwise.apply(bias.query(q), k, v, *factors, spans, call.scale)
    return y.to(call.v.dtype)


def spans_of(call: Call) -> tuple[tuple[int, int], ...] | None:
    """Give the first key of each row and the one behind its last; None where some are missing between them."""
    rows, keys = len(call.k), call.k.shape[2]
    if call.valid is None:
        return ((0, keys),) * rows
    count = call.valid.sum(1)
    first = call.valid.int().argmax(1)
    last = keys - call.valid.flip(1).int().argmax(1)
    if not bool(((last - first == count) | (count == 0)).all()):
        return None
    return tuple(zip(first.tolist(), (first + count).tolist(), strict=True))


def in_float32(call: Call) -> Call:
    """Give the call of products in float32 where that is not slower than bfloat16, and for float16, which has no range.

    A bias is computed in the precision of the queries, so it too is float32 then.
    """
    if call.q.dtype is torch.float16 or (call.q.dtype is torch.bfloat16 and not fast_bfloat16()):
        return replace(call, q=call.q.float(), k=call.k.float(), v=call.v.float())
    return call


def may_multiply(call: Call) -> bool:
    """Tell whether plain products of all pairs can serve: on a CPU, everything that is there is read, not too long."""
    return (
        not torch.compiler.is_compiling()  # before sizes, which a program has for all
        and call.q.device.type == "cpu"
        and call.pattern == Full()
        and call.dropout == 0
        and call.q.shape[1] == call.k.shape[1]
        and call.k.shape[2] <= LONGEST_PRODUCT
        and not transforms_active()
    )


def prefers_products(call: Call) -> bool:
    """Tell whether plain products beat the fused kernel: bfloat16 or training on a CPU, everything read, not too long.

    In bfloat16, forward and backward at (8, 6 heads, 197, 64), one thread: 11 ms against 25 with AMX, 29 against 62
    without. In float32 the two are level, and forward alone the kernel is ahead; but it has no gradient for a bias, and
    what serves instead takes twice the time of products. Where bfloat16 is fast the products round scores to it, as
    every attention written out in bfloat16 does; elsewhere they compute in float32.

    Without gradients in bfloat16, forward at (8, 6 heads, 197, 64), (4, 12, 128, 64), (4, 12, 512, 64) and (32, 3, 65,
    64) takes 0.57, 0.56, 0.58 and 0.46 of the kernel's time on an AMD EPYC (Zen 4) with one thread, and 0.55 to 0.59,
    0.44 with two; in float32 1.0 to 1.3. Processors with AMX, which the kernel uses as well, have not been measured.
    """
    return (
        (call.q.dtype is torch.bfloat16 if call.bias is None else isinstance(call.bias, Relative))
        and all(part is None for part in (call.valid, call.segments))
        and may_multiply(call)
        and (call.needs_grad or prefers_products_forward(call))
    )


def prefers_products_forward(call: Call) -> bool:
    """Tell whether they do where no gradient is wanted: without a bias, in bfloat16 that AVX-512 multiplies fast."""
    if call.bias is not None or not fast_vectors() or traced():
        return False
    b, h, n, m = *call.q.shape[:3], call.k.shape[2]
    return b * h * n * m >= FEWEST and call.q.shape[3] >= NARROWEST and n <= LONGEST_PRODUCT


def by_heads(
    q: Float[Tensor, "b q d"], k: Float[Tensor, "b k d"], v: Float[Tensor, "b k e"], scale: float
) -> Float[Tensor, "b q e"]:
    """Attend without gradients by products, so many heads at a time that their scores stay in the last cache."""
    y = v.new_empty(*q.shape[:2], v.shape[2])
    step = max(torch.get_num_threads(), SCORES // (q.shape[1] * k.shape[1]))
    for at in (slice(first, first + step) for first in range(0, len(q), step)):
        y[at] = _Products.apply(q[at], k[at], v[at], None, scale)
    return y


class _Products(torch.autograd.Function):
    """softmax(scale q kᵀ + added) v as three steps; the weights are kept for the backward pass."""

    @staticmethod
    @no_autocast
    def forward(ctx: FunctionCtx, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, scale: float) -> Tensor:
        ctx.scale = scale  # type: ignore[attr-defined]
        base, share = (q.new_empty(()), 0) if added is None else (added, 1)
        weights = torch.baddbmm(base, q, k.mT, beta=share, alpha=scale)
        torch.softmax(weights, -1, out=weights)
        ctx.save_for_backward(q, k, v, weights)
        return torch.bmm(weights, v)

    @staticmethod
    @only_once
    @no_autocast
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors  # type: ignore[attr-defined]
        scale = ctx.scale  # type: ignore[attr-defined]
        scores = torch._softmax_backward_data(torch.bmm(grad, v.mT), weights, -1, weights.dtype)
        none = q.new_empty(())
        return (
            torch.baddbmm(none, scores, k, beta=0, alpha=scale),
            torch.baddbmm(none, scores.mT, q, beta=0, alpha=scale),
            torch.bmm(weights.mT, grad),
            scores if ctx.needs_input_grad[3] else None,  # type: ignore[attr-defined]
            None,
        )


def additive(call: Call) -> Tensor | None:
    """Join mask and bias into what the kernel takes: None, a boolean mask, or a bias with -inf."""
    mask, added = call.mask(), call.added()
    if added is None:
        return mask
    return added if mask is None else added.masked_fill(~mask, float("-inf"))


BACKEND = Dense()
