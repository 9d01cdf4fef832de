"""Nystromformer: softmax attention through M landmarks (arXiv:2102.03902).

Axes: b rows, n places, h heads, m landmarks, d and e channels of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.self_attention import ProjectedAttention, whole_number
from zoo.core.scoring.normalizers import masked_softmax

STEPS = 6
"""Iterations of the pseudo-inverse. They belong to the definition: on unstructured queries and keys the exact inverse
approximates softmax attention far worse than these, which regularise it."""
KERNEL = 33
"""Places that the convolution of the values reads."""


class Nystrom(ProjectedAttention):
    """softmax(Q K~ᵀ) softmax(Q~ K~ᵀ)⁺ softmax(Q~ Kᵀ) V, and a depthwise convolution of V, arXiv:2102.03902 eq. 13.

    Landmarks Q~ and K~ are the means of M segments of the row, of equal length up to one place; a row of fewer places
    has as many landmarks. The iteration starts from Aᵀ / (|A|_1 |A|_inf) of each row and head alone; the published code
    takes the greatest norm of the batch, so that a row's answer depends on its batch mates. It cannot be causal: a
    landmark is a mean over its segment, and a query at the segment's start would read the later keys in it.

    Args:
        dim: channels in and out.
        num_heads: heads.
        landmarks: segments of a row (M).
        steps: iterations of the pseudo-inverse.
        options: as for `SelfAttention`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=False, padding_exact=True, any_length=True, streams=False, weights=True
    )
    not_causal: ClassVar[str] = "reads landmarks, which are means over places before and behind a query"

    def __init__(self, dim: int, num_heads: int, *, landmarks: int, steps: int = STEPS, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.landmarks, self.steps = landmarks, steps
        self.conv = nn.Conv2d(num_heads, num_heads, (KERNEL, 1), padding=(KERNEL // 2, 0), groups=num_heads, bias=False)

    def mix(
        self, parts: tuple[Float[Tensor, "b h n _"], ...], valid: Bool[Tensor, "b n"], causal: bool
    ) -> Float[Tensor, "b h n e"]:
        q, k, v = parts
        means = segment_means(valid, self.landmarks).to(q.dtype)[:, None]
        there = means.any(-1)
        scale = self.head_dim**-0.5
        few_q, few_k = means @ q * scale, means @ k
        middle = masked_softmax(few_q @ few_k.mT, there[..., None, :] & there[..., None])
        last = masked_softmax(few_q @ k.mT, valid[:, None, None] & there[..., None])
        first = masked_softmax(q @ few_k.mT * scale, there[..., None, :])
        mixed = first @ (pseudo_inverse(middle, self.steps) @ (last @ v))
        weight = self.conv.weight.to(v.dtype)
        return mixed + nn.functional.conv2d(v, weight, padding=self.conv.padding, groups=self.num_heads)

    def cost(self, length: int) -> Cost:
        m, d, e, h = min(self.landmarks, length), self.head_dim, self.value_dim, self.num_heads
        products = length * m * (4 * d + 2 * e) + m * m * (d + e) + 4 * self.steps * m**3 + length * KERNEL * e
        return Cost(h * products, h * (2 * length * m + (self.steps + 1) * m * m))


def segment_means(valid: Bool[Tensor, "b n"], landmarks: int) -> Float[Tensor, "b m n"]:
    """Give the matrix whose row s is the mean over segment s of what is there; rows of empty segments are 0."""
    length, place = valid.sum(1, keepdim=True), torch.arange(valid.shape[1], device=valid.device)
    count = length.clamp(max=landmarks)
    segment = (place * count // length.clamp(min=1)).masked_fill(~valid, -1)
    inside = (segment[:, None] == torch.arange(landmarks, device=valid.device)[:, None]).double()
    return inside / inside.sum(-1, keepdim=True).clamp(min=1)


def pseudo_inverse(a: Float[Tensor, "*b m m"], steps: int) -> Float[Tensor, "*b m m"]:
    """Approximate the Moore-Penrose inverse of each matrix alone, arXiv:2102.03902 eq. 11."""
    rows, columns = (a.detach().abs().sum(axis).amax(-1)[..., None, None] for axis in (-1, -2))
    z = a.mT / (rows * columns).clamp(min=torch.finfo(a.dtype).tiny)
    one = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(steps):
        az = a @ z
        z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
    return z


def nystrom(landmarks: str) -> Callable[..., Nystrom]:
    """Make what builds a `Nystrom`, for `attention="nystrom:M"`."""
    return partial(Nystrom, landmarks=whole_number(landmarks, "M"))
