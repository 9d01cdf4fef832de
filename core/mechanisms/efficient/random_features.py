"""Positive orthogonal random features of the softmax kernel, and sums over them (FAVOR+, arXiv:2009.14794).

exp(q·k) is the expectation of phi(q)·phi(k), phi(x) = exp(w·x - |x|²/2) for w of a standard normal. A feature can be as
large as exp(|x|²/2), so each vector comes as features in (0, 1] and the logarithm of what they are to be multiplied
with. A query's drops out of the division; a key's is taken relative to the greatest so far.
Axes: b rows, h heads, n vectors, d channels, f features, c values and the normaliser.
"""

import torch
from jaxtyping import Float
from torch import Tensor

CHUNK = 128
"""Queries that are compared with keys pair by pair; the fastest of 64, 128 and 256 for 128 features."""
FLOOR = -40.0
"""Least exponent of a feature beside the vector's greatest: two of them multiply to 1e-35, which float32 still holds,
so that a query and a key whose great features differ do not weigh 0."""
NOTHING = -1e30
"""Logarithm of the scale before the first key; finite, so that differences of it are."""


def orthogonal_rows(features: int, channels: int) -> Float[Tensor, "f d"]:
    """Draw directions of a standard normal that are orthogonal in blocks of d (arXiv:2009.14794 sec. 2.4)."""
    normal = torch.randn(-(-features // channels), channels, channels, dtype=torch.float64)
    q, r = torch.linalg.qr(normal)
    q = q * r.diagonal(dim1=1, dim2=2).sign()[:, None]  # else not uniform, but biased: arXiv:math-ph/0609050
    lengths = torch.randn(features, channels, dtype=torch.float64).norm(dim=1, keepdim=True)
    return (q.flatten(0, 1)[:features] * lengths).to(torch.get_default_dtype())


def positive_features(
    x: Float[Tensor, "*b n d"], directions: Float[Tensor, "f d"]
) -> tuple[Float[Tensor, "*b n f"], Float[Tensor, "*b n"]]:
    """Give the features in (0, 1], and the logarithm of their scale; they are not divided by the root of f."""
    exponents = x @ directions.mT
    greatest = exponents.detach().amax(-1, keepdim=True)
    scale = greatest[..., 0] - x.square().sum(-1) / 2
    return exponents.sub_(greatest).clamp(min=FLOOR).exp(), scale


def all_sums(
    q: Float[Tensor, "b h q f"],
    k: Float[Tensor, "b h k f"],
    scale: Float[Tensor, "b h k"],
    v: Float[Tensor, "b h k c"],
) -> Float[Tensor, "b h q c"]:
    """Let each query read all keys; those of scale -inf are not there."""
    peak = scale.detach().amax(-1, keepdim=True).clamp(min=NOTHING)
    return q @ (k.mT @ (v * (scale - peak).exp()[..., None]))


def running_sums(
    q: Float[Tensor, "b h n f"],
    k: Float[Tensor, "b h n f"],
    scale: Float[Tensor, "b h n"],
    v: Float[Tensor, "b h n c"],
    sums: Float[Tensor, "b h f c"],
    peak: Float[Tensor, "b h 1"],
) -> tuple[Float[Tensor, "b h n c"], Float[Tensor, "b h f c"], Float[Tensor, "b h 1"]]:
    """Let each query read the keys up to its own and those summed up before; give the answers, the sums and their peak.

    All is relative to the greatest scale so far, never to that of a later key: a query's answer has the same bits
    whatever follows.
    """
    answers = []
    for parts in zip(*(x.split(CHUNK, 2) for x in (q, k, scale, v)), strict=True):
        answer, sums, peak = _one_chunk(parts, sums, peak)
        answers.append(answer)
    return torch.cat(answers, 2), sums, peak


def _one_chunk(parts: tuple[Tensor, ...], sums: Tensor, peak: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    q, k, scale, v = parts
    peaks = torch.maximum(scale.detach().cummax(-1).values, peak)
    n = q.shape[2]
    later = torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1)
    relative = (scale[..., None, :] - peaks[..., None]).masked_fill(later, -torch.inf).exp()
    y = (q @ k.mT * relative) @ v + (peak - peaks).exp()[..., None] * (q @ sums)
    last = peaks[..., -1:]
    kept = sums * (peak - last).exp()[..., None]
    return y, kept + k.mT @ (v * (scale - last).exp()[..., None]), last
