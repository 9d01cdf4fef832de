"""`Growing`: a key-value cache that keeps every token.

Axes: see `zoo.core.cache.state`.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.cache.slots import Slots
from zoo.core.cache.state import Read
from zoo.core.patterns.padding import Valid


class Growing(Slots):
    """Key-value cache that grows: keeps every key and value, and doubles its memory when it is full.

    Args:
        batch: rows.
        capacity: tokens to make room for at first.
    """

    def __init__(self, batch: int, capacity: int = 16) -> None:
        super().__init__(batch)
        self.capacity = max(capacity, 1)

    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        self.check(k)
        if valid is None and position is None and self.regular and isinstance(self.length, int):
            return self._follow(k, v)
        number, where = self.advance(k.shape[1], valid, position, k.device)
        self._make_room(k, v)
        self.keep({"k": k, "v": v, "position": where}, number, valid)
        return self.read()

    def _follow(self, k: Tensor, v: Tensor) -> Read:
        """Append where all rows are equally long and every token stands at its number, as positions of slots say."""
        first = self.longest
        self.length = self.longest = self.next = first + k.shape[1]
        self._make_room(k, v)
        for name, new in (("k", k), ("v", v)):
            self.room(name, new).narrow(1, first, k.shape[1]).copy_(new)
        self.last = self.tensors["position"][:1].narrow(1, first, k.shape[1])
        return self.read()

    def read(self) -> Read:
        """Return all cached keys and values."""
        n = self.longest
        k, v = (self.tensors[name].narrow(1, 0, n) for name in ("k", "v"))
        keys = None
        if isinstance(self.length, Tensor):
            keys = Valid(torch.arange(n, device=k.device) < self.length[:, None])
        return Read(k, v, keys, None if self.regular else self.tensors["position"].narrow(1, 0, n))

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        self.check_length(length)
        if self.tensors:
            self.cut(length)

    def take(self, index: Int[Tensor, " rows"]) -> None:
        """See `State.take`; on a CPU, rows that stay where they are, and room that is empty, are not copied."""
        everything = self.tensors
        graph = torch.is_grad_enabled() or any(x.requires_grad for x in everything.values())
        if graph or len(index) != self.batch or any(x.device.type != "cpu" for x in everything.values()):
            super().take(index)
            return
        index = index.cpu()
        moved = (index != torch.arange(self.batch)).nonzero()[:, 0]
        for x in everything.values():
            used = x[:, : self.longest]
            used.index_copy_(0, moved, used.index_select(0, index[moved]))
        self.tensors = {}
        super().take(index)
        self.tensors = everything

    def _make_room(self, k: Tensor, v: Tensor) -> None:
        if self.tensors and self.longest <= self.capacity:
            return
        while self.capacity < self.longest:
            self.capacity *= 2
        for name, like in (("k", k), ("v", v), ("position", None)):
            if like is None:
                room = torch.arange(self.capacity, device=k.device).repeat(self.batch, 1)
            else:
                room = like.new_zeros(self.batch, self.capacity, *like.shape[2:])
            if name in self.tensors:
                kept = self.tensors[name]
                room = torch.cat([kept, room[:, kept.shape[1] :]], dim=1)
            self.tensors[name] = room
