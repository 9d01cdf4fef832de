"""`Ring`: a key-value cache of bounded size for windowed attention; and the choice of the cache for a pattern.

Axes: see `zoo.core.cache.state`.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.cache.growing import Growing
from zoo.core.cache.slots import Slots
from zoo.core.cache.state import Count, KeyValues, Read, per_row
from zoo.core.errors import InputError
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.padding import Valid
from zoo.core.patterns.pattern import Pattern

MOST_PINNED = 64
"""First tokens that a ring keeps beside its window, if the window is shorter still."""


class Ring(Slots):
    """Keep the last tokens of each row, in slots that are used again, and perhaps the first ones.

    Args:
        batch: rows.
        left: how far back a query looks, tokens.
        pinned: first tokens that are kept for ever, for patterns in which everyone reads them.
        spare: tokens that may be cropped and still be followed by others, beyond the last one.
    """

    def __init__(self, batch: int, left: int, pinned: int = 0, spare: int = 0) -> None:
        super().__init__(batch)
        self.left, self.pinned = max(left, 1), pinned  # where the last token stands says where the next one does
        self.size = self.left + 1 + spare
        self.whole = True
        """Whether every slot up to the longest row's is in use."""
        self.furthest: Count = 0
        """Tokens of each row when it was longest: a crop does not bring back what they have overwritten."""

    def slot(self, token: Int[Tensor, "*c"]) -> Int[Tensor, "*c"]:
        return torch.where(token < self.pinned, token, self.pinned + (token - self.pinned) % self.size)

    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """See `KeyValues.append`; several at once read the cache and each other, before the oldest are overwritten."""
        self.check(k)
        self._make_room(k, v)
        counted = position is None and self.longest == 0
        before = self.read() if k.shape[1] > 1 and self.longest else None
        number, where = self.advance(k.shape[1], valid, position, k.device)
        self.whole = self.whole and valid is None
        self.furthest = _larger(self.furthest, self.length)
        seen = Read(k, v, None if valid is None else Valid(valid), where.expand(self.batch, -1))
        if before is not None:
            seen = joined(before, seen)  # a copy: what is kept is overwritten next
        elif counted:
            seen = seen._replace(positions=None)
        last = self.length if isinstance(self.length, int) else self.length[:, None]
        chosen = (number < self.pinned) | (number >= last - self.size)
        new = {"k": k, "v": v, "position": where, "valid": torch.ones_like(where, dtype=torch.bool)}
        self.keep(new, number, chosen if valid is None else chosen & valid)
        return self.read() if k.shape[1] == 1 else seen

    def read(self) -> Read:
        """Return all cached keys and values; slots are in no order."""
        n = min(self.longest, self.pinned + self.size)
        k, v, position, valid = (self.tensors[name][:, :n] for name in ("k", "v", "position", "valid"))
        return Read(k, v, None if self.whole else Valid(valid), position)

    def check_crop(self, length: int | Int[Tensor, " b"]) -> None:
        """See `State.check_crop`.

        Raises:
            InputError: If what the next query would read was overwritten.
        """
        self.check_length(length)
        before, furthest = (per_row(x, self.batch).cpu() for x in (self.length, self.furthest))
        after = torch.minimum(before, per_row(length, self.batch).cpu())
        lost = (furthest - self.size).clamp(min=self.pinned) > (after - self.left).clamp(min=self.pinned)
        if bool((lost & (after < before)).any()):
            raise InputError(
                f"cropped from {before.tolist()} to {after.tolist()} tokens: a ring of {self.size} slots for a window "
                f"of {self.left} can forget the last {self.size - self.left} of {furthest.tolist()} tokens that it "
                "ever held; make it with spare="
            )

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """See `State.crop`; `check_crop` says when it is refused."""
        self.check_crop(length)
        if not self.tensors:
            return
        device = self.tensors["valid"].device
        self.cut(length)
        slots = torch.arange(self.pinned + self.size, device=device)
        newest = per_row(self.furthest, self.batch).to(device)[:, None] - 1
        token = newest - (newest - slots) % self.size  # the newest token that stands in the slot
        token = torch.where(slots < self.pinned, slots, token)
        self.tensors["valid"] = self.tensors["valid"] & (token < self.lengths.to(device)[:, None])
        self.whole = False

    def take(self, index: Int[Tensor, " rows"]) -> None:
        """See `State.take`."""
        super().take(index)
        if isinstance(self.furthest, Tensor):
            self.furthest = self.furthest[index.to(self.furthest.device)]

    def _make_room(self, k: Tensor, v: Tensor) -> None:
        if self.tensors:
            return
        slots = (self.batch, self.pinned + self.size)
        self.tensors = {
            "k": k.new_zeros(*slots, *k.shape[2:]),
            "v": v.new_zeros(*slots, *v.shape[2:]),
            "position": torch.zeros(slots, dtype=torch.long, device=k.device),
            "valid": torch.zeros(slots, dtype=torch.bool, device=k.device),
        }


def _larger(one: Count, other: Count) -> Count:
    """Give the larger number of each row."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return torch.maximum(*(torch.as_tensor(x) for x in (one, other)))


def joined(before: Read, new: Read) -> Read:
    """Put what is kept in front of what is new."""
    k, v = torch.cat([before.k, new.k], dim=1), torch.cat([before.v, new.v], dim=1)
    assert before.positions is not None
    assert new.positions is not None
    keys = None
    if before.keys is not None or new.keys is not None:
        keys = Valid(torch.cat([_valid(before), _valid(new)], dim=1))
    return Read(k, v, keys, torch.cat([before.positions, new.positions], dim=1))


def _valid(read: Read) -> Bool[Tensor, "b k"]:
    b, k = read.k.shape[:2]
    everything = torch.ones(b, k, dtype=torch.bool, device=read.k.device)
    return everything if read.keys is None else read.keys.valid(b, k, read.k.device)


def state_for(pattern: Pattern, batch: int, *, capacity: int = 16, spare: int = 0) -> KeyValues:
    """Choose the cache of an attention of this pattern: a ring for a bounded window, else a growing one.

    Args:
        pattern: who may read whom.
        batch: rows.
        capacity: tokens to make room for at first, where everything is kept.
        spare: tokens that may be cropped and still be followed by others, beyond the last one.
    """
    cover = canonical(pattern).cover()
    pinned = 1 + max((*cover.keys, *cover.queries), default=-1)
    if cover.left is None or pinned > max(cover.left, MOST_PINNED):
        return Growing(batch, capacity)
    return Ring(batch, cover.left, pinned, spare)
