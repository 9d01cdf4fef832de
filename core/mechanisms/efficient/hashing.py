"""Locality-sensitive hashing of vectors to buckets, and a layout of the buckets in chunks (arXiv:2001.04451 sec. 2).

Axes: r rows, h heads, t rounds, m places, d channels, p half of the buckets, c chunks, s places of a chunk.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


def buckets_of(x: Float[Tensor, "r h m d"], rotations: Float[Tensor, "t h d p"]) -> Int[Tensor, "r h t m"]:
    """Give the bucket of each vector in each round: the argmax of [x R, -x R]; without columns there is one bucket."""
    if not rotations.shape[-1]:
        return torch.zeros(*x.shape[:2], len(rotations), x.shape[2], dtype=torch.long, device=x.device)
    turned = torch.einsum("rhmd,thdp->rhtmp", x, rotations)
    return torch.cat([turned, -turned], -1).argmax(-1)


@dataclass(frozen=True)
class Layout:
    """Say where the vectors of each bucket stand: in order of their places, from the start of a chunk on.

    A chunk holds one bucket only. So a vector's chunk depends on the earlier vectors of its bucket alone: neither
    padding nor what comes later moves it. In the paper's layout, chunks of a sorted row, both do.

    Args:
        slot: where each vector goes.
        place: which vector is in a slot; m where none is.
        group: bucket and chunk of each vector as one number; the next chunk of the bucket has the next number.
    """

    slot: Int[Tensor, "r h t m"]
    place: Int[Tensor, "r h t c s"]
    group: Int[Tensor, "r h t m"]

    @classmethod
    def of(cls, buckets: Int[Tensor, "r h t m"], count: int, size: int) -> "Layout":
        """Lay out vectors.

        Args:
            buckets: of each vector, in 0 … count - 1.
            count: of buckets.
            size: places of a chunk.
        """
        m, device = buckets.shape[-1], buckets.device
        members = torch.zeros(*buckets.shape[:-1], count, dtype=torch.long, device=device)
        members.scatter_add_(-1, buckets, torch.ones_like(buckets))
        chunks = -(-members // size)
        order = buckets.argsort(dim=-1, stable=True)
        number = torch.arange(m, device=device).expand_as(order)
        rank = torch.empty_like(order).scatter_(-1, order, number)
        rank = rank - (members.cumsum(-1) - members).gather(-1, buckets)
        slot = (chunks.cumsum(-1) - chunks).gather(-1, buckets) * size + rank
        slots = (m // size + count) * size
        place = buckets.new_full((*buckets.shape[:-1], slots), m).scatter_(-1, slot, number)
        group = buckets * (m // size + 3) + rank // size
        return cls(slot, place.unflatten(-1, (-1, size)), group)
