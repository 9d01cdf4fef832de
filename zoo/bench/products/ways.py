"""The table that the rules of `zoo.core.ops.products` are made from: each way against `linear`, by rows and matrix.

A ratio below 1 means that the way wins on this processor.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear

from zoo.bench.speed.case import Built, Case, Job
from zoo.core.ops import columns, onednn, panels
from zoo.core.ops.activations import gelu, gelu_tanh, silu
from zoo.core.ops.onednn import Activation
from zoo.core.ops.products import RULES

MATRICES = (
    ("Transformer base, MLP", 512, 2048),
    ("ViT-S, MLP", 384, 1536),
    ("BERT and GPT-2, MLP", 768, 3072),
    ("BERT and GPT-2, MLP back", 3072, 768),
    ("Conformer, small", 144, 576),
)
"""Name, channels in and out: arXiv:1706.03762, arXiv:2012.12877, arXiv:1810.04805, arXiv:2005.08100."""
VOCABULARY = ("GPT-2, head", 768, 50257)
ROWS = (1, 2, 4, 8, 16, 64, 512, 1576)
"""Tokens of a step, of a beam, of a batch; 1,576 are 8 images of 224 pixels in ViT-S/16."""
WORK = 2e8
"""Multiply-adds of one measurement at least: what is smaller is repeated."""


def drawn(rows: int, wide: int, out: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw vectors, matrix, bias, and the gradient of the product, which is about 1: tanh takes longer for more."""
    generator = torch.Generator().manual_seed(0)
    shapes = (rows, wide), (out, wide), (out,), (rows, out)
    x, weight, bias, grad = (torch.randn(shape, generator=generator) for shape in shapes)
    return x, weight / wide**0.5, bias, grad


def forward(rows: int, wide: int, out: int, way: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Built:
    """Multiply in a way, and by `linear`."""
    x, weight, bias, _ = drawn(rows, wide, out)
    return _without_gradients(partial(way, x, weight, bias), partial(linear, x, weight, bias))


def fused(rows: int, wide: int, out: int, activation: Activation) -> Built:
    """Multiply with the activation fused, and by `linear` with the activation after it."""
    if not onednn.works():
        return "oneDNN's operator is not there"
    x, weight, bias, _ = drawn(rows, wide, out)
    return _without_gradients(
        lambda: onednn.multiply(x, weight, bias, activation), lambda: activation(linear(x, weight, bias))
    )


def gradients(rows: int, wide: int, out: int) -> Built:
    """Compute the product and its three gradients by oneDNN, and by `linear`."""
    if not onednn.works():
        return "oneDNN's operator is not there"
    x, weight, bias, grad = drawn(rows, wide, out)
    parts = [part.requires_grad_() for part in (x, weight, bias)]

    def job(way: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        torch.autograd.grad(way(*parts), parts, grad)

    return partial(job, onednn.differentiable), partial(job, linear)


def by_onednn(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Multiply by oneDNN."""
    return onednn.multiply(x, weight, bias)


def _without_gradients(ours: Job, theirs: Job) -> Built:
    def run(job: Job) -> None:
        with torch.no_grad():
            job()

    return partial(run, ours), partial(run, theirs)


def _cases() -> list[Case]:
    found = []
    for name, wide, out in (*MATRICES, VOCABULARY):
        for rows in ROWS if name != VOCABULARY[0] else ROWS[:6]:
            shape = f"{name}, {rows:,} x {wide} to {out:,}"
            add = partial(_case, shape, max(1, round(WORK / (rows * wide * out))))
            found.append(add("oneDNN", partial(forward, rows, wide, out, by_onednn)))
            if rows <= max(rule.columns for rule in RULES.values()) and out >= wide:
                found.append(add("columns", partial(forward, rows, wide, out, columns.by_columns)))
            if panels.FEW[0] <= rows <= panels.FEW[1]:
                found.append(add("panels", partial(forward, rows, wide, out, panels.by_panels)))
            if name != VOCABULARY[0]:
                for activation in (gelu, gelu_tanh, silu):
                    way = f"oneDNN with {activation.__name__}"
                    found.append(add(way, partial(fused, rows, wide, out, activation)))
                found.append(add("oneDNN with gradients", partial(gradients, rows, wide, out)))
    return found


def _case(shape: str, repeats: int, way: str, build: Callable[[], Built]) -> Case:
    return Case(f"{shape}: {way}", "linear", 1.0, build, repeats=repeats)


CASES = _cases()
