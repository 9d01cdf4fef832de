"""Attention to neighbours: `attend` with a window beside full attention, a mask, and libraries for windows."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from zoo.bench.speed.case import Case, Job
from zoo.core.engine.dispatch import attend
from zoo.core.patterns.local import Window
from zoo.core.scoring.relative_bias import TransformerXL

HEADS, HEAD_DIM, REACH = 4, 64, 16
"""Heads, channels of a head, and keys that a query reads to each side."""
PATTERN = Window(REACH)


def vectors(tokens: int, step: bool, dtype: torch.dtype | None = None) -> list[Tensor]:
    """Draw queries, keys and values of one row, of PyTorch's default type unless another is given."""
    torch.manual_seed(0)
    return [torch.randn(1, tokens, HEADS, HEAD_DIM, dtype=dtype, requires_grad=step) for _ in range(3)]


def job(function: Callable[..., Tensor], tensors: list[Tensor], step: bool, *more: Tensor) -> Job:
    """Make a job that computes a function's answer, or its gradients too.

    Args:
        function: of q, k and v.
        tensors: q, k and v.
        step: whether to compute gradients.
        more: other tensors that get a gradient.
    """

    def run() -> None:
        if step:
            y = function(*tensors)
            torch.autograd.grad(y, [*tensors, *more], torch.ones_like(y))
        else:
            with torch.no_grad():
                function(*tensors)

    return run


def windowed(q: Tensor, k: Tensor, v: Tensor, backend: str = "auto") -> Tensor:
    """Attend to the window; the planner chooses how, or a backend is named."""
    return attend(q, k, v, PATTERN, backend=backend)


def by_kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Call PyTorch's kernel on all pairs."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)


def near(tokens: int) -> Tensor:
    """Give the window as a mask."""
    i = torch.arange(tokens)
    return PATTERN.allows(i[:, None], i)


def beside_full(tokens: int, step: bool, dtype: torch.dtype | None = None, backend: str = "auto") -> tuple[Job, Job]:
    """Make the jobs of the window and of full attention."""
    tensors = vectors(tokens, step, dtype)
    return job(partial(windowed, backend=backend), tensors, step), job(by_kernel, tensors, step)


def beside_mask(tokens: int) -> tuple[Job, Job]:
    """Make the jobs of the window and of the kernel with the window as a mask."""
    tensors = vectors(tokens, False)
    return job(windowed, tensors, False), job(partial(by_kernel, mask=near(tokens)), tensors, False)


def beside_flex(
    tokens: int, step: bool = False, dtype: torch.dtype | None = None, backend: str = "auto"
) -> tuple[Job, Job]:
    """Make the jobs of the window and of FlexAttention, compiled, with its mask by blocks made before."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    tensors = vectors(tokens, step, dtype)
    mask = create_block_mask(PATTERN.mask_mod(), None, None, tokens, tokens, device=tensors[0].device)
    flex = torch.compile(flex_attention)
    heads = [x.detach().transpose(1, 2).contiguous().requires_grad_(step) for x in tensors]  # the layout that it likes
    ours = job(partial(windowed, backend=backend), tensors, step)
    return ours, job(partial(flex, block_mask=mask), heads, step)


def beside_local_attention(tokens: int) -> tuple[Job, Job]:
    """Make the jobs of the window and of the package local-attention."""
    from local_attention import LocalAttention  # type: ignore[import-untyped]

    options = {"look_backward": 1, "look_forward": 1, "use_rotary_pos_emb": False, "autopad": True}
    theirs = LocalAttention(window_size=REACH, exact_windowsize=True, **options)
    tensors = vectors(tokens, False)
    heads = [x.transpose(1, 2).contiguous() for x in tensors]
    return job(windowed, tensors, False), job(theirs, heads, False)


def beside_dense_transformer_xl(tokens: int) -> tuple[Job, Job]:
    """Make the training steps of Transformer-XL's bias in the window and in its dense form, with the window as a mask.

    arXiv:1901.02860 app. B: the scores against all offsets are moved row by row to where their keys stand.
    """
    tensors = vectors(tokens, True)
    u, v_ = (torch.randn(HEADS, HEAD_DIM, requires_grad=True) for _ in range(2))
    r = torch.randn(HEADS, 2 * tokens - 1, HEAD_DIM, requires_grad=True)
    few = r[:, tokens - 1 - REACH : tokens + REACH].detach().requires_grad_()
    far = ~near(tokens)

    def dense(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        offsets = pad((q + v_[:, None]) @ r.mT, (1, 0)).reshape(1, HEADS, 2 * tokens, tokens)[:, :, 1:]
        moved = offsets.reshape(1, HEADS, tokens, 2 * tokens - 1)[..., :tokens]
        scores = ((q + u[:, None]) @ k.mT + moved) * HEAD_DIM**-0.5
        return (scores.masked_fill(far, float("-inf")).softmax(-1) @ v).transpose(1, 2)

    def banded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attend(q, k, v, PATTERN, bias=TransformerXL(u, v_, few, -REACH))

    return job(banded, tensors, True, u, v_, few), job(dense, tensors, True, u, v_, r)


def doubled(tokens: int, step: bool) -> tuple[Job, Job]:
    """Make the job of twice as many tokens, and that of these."""
    more, fewer = (job(windowed, vectors(n, step), step) for n in (2 * tokens, tokens))
    return more, fewer


def _doubling(step: bool, memory: bool) -> Case:
    what = "forward + backward" if step else "forward"
    name = f"window {REACH} each side, T = 16,000, {what}{', memory' if memory else ''}"
    return Case(name, "itself, T = 8,000", 2.15, build=partial(doubled, 8000, step), memory=memory)


def _cases() -> tuple[Case, ...]:
    name = f"window {REACH} each side, T = "
    short = f"{name}4,000, forward"
    return (
        Case(f"{name}16,000, forward", "full SDPA", 1 / 40, build=partial(beside_full, 16000, False)),
        Case(f"{name}16,000, forward + backward", "full SDPA", 1 / 20, build=partial(beside_full, 16000, True)),
        Case(short, "SDPA with a boolean mask", 1 / 20, build=partial(beside_mask, 4000)),
        Case(short, "FlexAttention, compiled", 1 / 4, build=partial(beside_flex, 4000)),
        Case(short, "local-attention", 0.6, build=partial(beside_local_attention, 4000)),
        Case(
            f"{name}4,000, Transformer-XL bias, forward + backward",
            "its dense form",
            1 / 8,
            build=partial(beside_dense_transformer_xl, 4000),
        ),
        *(_doubling(step, memory) for memory in (False, True) for step in (False, True)),
    )


CASES: tuple[Case, ...] = _cases()
