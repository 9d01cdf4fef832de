"""Reformer: places read those whose vectors fall into the same bucket (arXiv:2001.04451).

Axes: r rows, h heads, t rounds, m places, c chunks, s places of a chunk, d and e channels of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize, pad

from zoo.core.errors import ConfigError
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.hashing import Layout, buckets_of
from zoo.core.mechanisms.efficient.self_attention import SelfAttention, whole_number
from zoo.core.ops.linear import Linear

ONESELF = -1e5
"""Score of a place with itself: it reads itself only where it reads nothing else."""


class Reformer(SelfAttention):
    """Attention by locality-sensitive hashing with shared queries and keys, arXiv:2001.04451 sec. 2.

    A round hashes vectors by random rotations to buckets, cuts each bucket into chunks, and lets a place read its own
    chunk and the one before it, of its bucket. The answer over several rounds is the softmax over the union of what
    they read: a pair found in N rounds counts with -log N in each. A key is its vector divided by its norm, which takes
    the place of sqrt(d), as in the authors' code. Rotations are drawn once and saved with the weights.
    Chunks start anew at each bucket, and padding has a bucket of its own: so causal attention leaks nothing, which it
    does in the paper's layout, where later places shift the chunks of earlier ones (see `Layout`).
    A decoder has no state: `generate` reads the prefix again.

    Args:
        dim: channels in and out.
        num_heads: heads.
        buckets: an even number, or 1 for one bucket that holds all.
        rounds: hashes.
        chunk: places of a chunk.
        options: as for `SelfAttention`.

    Raises:
        ConfigError: If the number of buckets is odd and not 1.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=True, streams=False, weights=True
    )
    turned: ClassVar[int] = 1
    rotations: Tensor

    def __init__(
        self, dim: int, num_heads: int, *, buckets: int, rounds: int = 1, chunk: int = 64, **options: Any
    ) -> None:
        super().__init__(dim, num_heads, **options)
        if buckets % 2 and buckets != 1:
            raise ConfigError(f"BUCKETS={buckets} is odd: a rotation gives pairs of them, so give an even number, or 1")
        self.buckets, self.rounds, self.chunk = buckets, rounds, chunk
        self.qkv = Linear(dim, num_heads * (self.head_dim + self.value_dim))
        self.register_buffer("rotations", torch.randn(rounds, num_heads, self.head_dim, buckets // 2))

    def project(self, x: Float[Tensor, "r m dim"]) -> tuple[Float[Tensor, "r m h _"], ...]:
        return self.split(self.qkv(x), self.head_dim, self.value_dim)

    def mix(
        self, parts: tuple[Float[Tensor, "r h m _"], ...], valid: Bool[Tensor, "r m"], causal: bool
    ) -> Float[Tensor, "r h m e"]:
        q, v = parts
        buckets = buckets_of(q.detach(), self.rotations.to(q.dtype))
        buckets = buckets.masked_fill(~valid[:, None, None], self.buckets)
        layout = Layout.of(buckets, self.buckets + 1, self.chunk)
        k = normalize(q, dim=-1)
        keys, values = (with_one_before(in_slots(x, layout.place)) for x in (k, v))
        scores = in_slots(q, layout.place) @ keys.mT + self._bias(layout, causal).to(q.dtype)
        total = scores.logsumexp(-1, keepdim=True)
        answers = (scores - total).exp() @ values
        y, share = (from_slots(x, layout.slot) for x in (answers, total))
        return (y * share.softmax(2)).sum(2)

    def _bias(self, layout: Layout, causal: bool) -> Float[Tensor, "r h t c s k"]:
        """Give what is added to the scores of a chunk: -log N of the rounds, and what a place may not read."""
        m = layout.slot.shape[-1]
        i, j = layout.place[..., :, None], with_one_before(layout.place[..., None])[..., 0][..., None, :]
        here = layout.place
        found = torch.zeros(1, device=i.device)
        own = torch.zeros(1, dtype=torch.bool, device=i.device)
        for number, group in enumerate(layout.group.unbind(2)):
            known = pad(group, (0, 1), value=-2)[:, :, None].expand(*here.shape[:3], -1)
            of_query = known.gather(3, here.flatten(3)).view_as(here)
            of_key = with_one_before(of_query[..., None])[..., 0]
            step = of_query[..., :, None] - of_key[..., None, :]
            reads = ((step == 0) | (step == 1)) & (j < m)
            found = found + reads
            this = torch.arange(self.rounds, device=i.device)[:, None, None, None] == number
            own = own | (reads & this)
        if causal:
            own = own & (j <= i)
        lowest = torch.finfo(torch.float32).min / 4
        bias = -found.clamp(min=1).log() + ONESELF * (i == j)
        return bias.masked_fill(~own, lowest)

    def cost(self, length: int) -> Cost:
        slots = (length // self.chunk + self.buckets + 1) * self.chunk
        pairs, sizes = slots * 2 * self.chunk, self.head_dim + self.value_dim
        hashing = length * self.head_dim * (self.buckets // 2)
        heads = self.num_heads * self.rounds
        return Cost(heads * (pairs * sizes + hashing), heads * (2 * pairs + 3 * slots * sizes))

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, buckets={self.buckets}, rounds={self.rounds}, chunk={self.chunk}"


def in_slots(x: Float[Tensor, "r h m d"], place: Int[Tensor, "r h t c s"]) -> Float[Tensor, "r h t c s d"]:
    """Give the vector of each slot; 0 where none is."""
    index = place.flatten(2)[..., None].expand(-1, -1, -1, x.shape[-1])
    return pad(x, (0, 0, 0, 1)).gather(2, index).view(*place.shape, -1)


def from_slots(x: Float[Tensor, "r h t c s d"], slot: Int[Tensor, "r h t m"]) -> Float[Tensor, "r h t m d"]:
    """Give each place what stands in its slot."""
    return x.flatten(3, 4).gather(3, slot[..., None].expand(*slot.shape, x.shape[-1]))


def with_one_before(x: Float[Tensor, "r h t c s d"] | Int[Tensor, "r h t c s d"]) -> Tensor:
    """Give each chunk with the one before it in front; the last one before the first, which has none."""
    return torch.cat([x.roll(1, 3), x], 4)


def reformer(buckets: str, rounds: str = "1", chunk: str = "64") -> Callable[..., Reformer]:
    """Make what builds a `Reformer`, for `attention="reformer:BUCKETS[,ROUNDS[,CHUNK]]"`."""
    sizes = whole_number(buckets, "BUCKETS"), whole_number(rounds, "ROUNDS"), whole_number(chunk, "CHUNK")
    return partial(Reformer, buckets=sizes[0], rounds=sizes[1], chunk=sizes[2])
