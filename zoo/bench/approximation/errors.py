"""How far approximations of softmax attention are from it on drawn queries, keys and values.

Axes: n places, d channels of a head, f features.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.mechanisms.efficient.linformer import Linformer
from zoo.core.mechanisms.efficient.nystrom import Nystrom
from zoo.core.mechanisms.efficient.performer import Performer
from zoo.core.mechanisms.efficient.reformer import Reformer
from zoo.core.mechanisms.efficient.self_attention import SelfAttention
from zoo.errors import ConfigError

CHUNK = 16
"""Places of a chunk of Reformer, so that a round reads twice as many keys."""
DRAWS = 1_000_000
"""Added to the seed of the inputs for what a mechanism draws."""
STEPS = 20
"""Of Nyström's iteration for the inverse; the layer's six add an error of their own."""
Weights = Float[Tensor, "n n"]


def errors(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a mechanism at each size on inputs whose scores have a standard deviation.

    Returns:
        `output`: by size, |Y' - Y| / |Y| of the answers Y of exact attention, Frobenius norms.
        `weights`: by size, the mean over queries of half the sum of |a' - a| over keys (total variation).
    """
    torch.manual_seed(config["seed"])
    n, d = config["length"], config["head_dim"]
    q, k, v = (torch.randn(n, d, dtype=torch.float64) for _ in range(3))
    q, k = (x * config["scale"] ** 0.5 for x in (q, k))
    exact = (q @ k.mT * d**-0.5).softmax(-1)
    found: dict[str, dict[int, float]] = {"output": {}, "weights": {}}
    for size in config["sizes"]:
        if not LEAST.get(config["mechanism"], 1) <= size <= (math.inf if config["mechanism"] in UNBOUNDED else n):
            continue
        torch.manual_seed(DRAWS + config["seed"])  # what a mechanism draws depends on no other size, nor on the inputs
        near, goal = MECHANISMS[config["mechanism"]](q, k, exact, size)
        found["output"][size] = float(((near - goal) @ v).norm() / (goal @ v).norm())
        found["weights"][size] = float((near - goal).abs().sum(-1).mean() / 2)
    return found


def performer(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """Positive orthogonal features, arXiv:2009.14794."""
    layer = Performer(q.shape[1], 1, features=size)
    return _mixed(layer, q, k), exact


def independent(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """Positive features whose directions are drawn independently."""
    layer = Performer(q.shape[1], 1, features=size)
    layer.directions = torch.randn_like(layer.directions)
    return _mixed(layer, q, k), exact


def nystrom(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """Segment means as landmarks, arXiv:2102.03902, without the convolution, which approximates nothing."""
    layer = Nystrom(q.shape[1], 1, landmarks=size, steps=STEPS)
    nn.init.zeros_(layer.conv.weight)
    return _mixed(layer, q, k), exact


def linformer(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """Projections as they are drawn, arXiv:2006.04768; training fits them to data, which these are not."""
    return _mixed(Linformer(q.shape[1], 1, projected=size, length=len(q)), q, k), exact


def low_rank(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """The nearest matrix of this rank (Eckart and Young): no mechanism of low rank comes nearer in Frobenius norm."""
    u, s, v = torch.linalg.svd(exact)
    return u[:, :size] * s[:size] @ v[:size], exact


def window(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """The nearest places, about as many as the size says."""
    place = torch.arange(len(q))
    near = exact * ((place[:, None] - place).abs() <= size // 2)
    return near / near.sum(-1, keepdim=True), exact


def reformer(q: Tensor, k: Tensor, exact: Weights, size: int) -> tuple[Weights, Weights]:
    """Hashing of shared queries and keys, arXiv:2001.04451, in as many rounds as read `size` keys at most.

    Its exact form is the softmax of a query with all normed keys, which are the queries.
    """
    n, d = q.shape
    rounds, buckets = size // (2 * CHUNK), max(2, n // CHUNK // 2 * 2)
    shared = q * d**-0.5 * k.norm(dim=1).mean()  # with normed keys, scores spread as those of the others do
    whole = Reformer(d, 1, buckets=1, chunk=n)
    return _mixed(Reformer(d, 1, buckets=buckets, rounds=rounds, chunk=CHUNK), shared), _mixed(whole, shared)


MECHANISMS: Mapping[str, Callable[[Tensor, Tensor, Weights, int], tuple[Weights, Weights]]] = {
    "performer": performer,
    "performer-independent": independent,
    "nystrom": nystrom,
    "linformer": linformer,
    "reformer": reformer,
    "window": window,
    "low-rank": low_rank,
}
"""Name to what gives the approximate weights and those that they approximate."""
UNBOUNDED = ("performer", "performer-independent")
"""Whose size may be above the length."""
LEAST = {"reformer": 2 * CHUNK}
"""Least size, where it is not 1."""
SIZE_OF: Mapping[str, str] = {
    "performer": "features",
    "performer-independent": "features",
    "nystrom": "landmarks",
    "linformer": "projected places",
    "reformer": f"keys read, {2 * CHUNK} in a round",
    "window": "keys read",
    "low-rank": "rank",
}
"""What the size of a mechanism counts."""


def check(mechanism: str) -> None:
    """Refuse an unknown mechanism.

    Raises:
        ConfigError: If it is none of `MECHANISMS`.
    """
    if mechanism not in MECHANISMS:
        raise ConfigError(f"--mechanisms {mechanism}: there are {', '.join(MECHANISMS)}")


@torch.no_grad()
def _mixed(layer: SelfAttention, *reads: Tensor) -> Weights:
    """Give the matrix by which a layer multiplies the values: what it makes of the unit vectors."""
    n = len(reads[0])
    parts = (*reads, torch.eye(n, dtype=torch.float64))
    return layer.double().mix(tuple(x[None, None] for x in parts), torch.ones(1, n, dtype=torch.bool), False)[0, 0]
