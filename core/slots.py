"""States that keep each token in a slot of its own: what counts them, and `Growing`, which keeps them all.

Padding is never kept, so a row's tokens are numbered 0, 1, 2, … wherever its padding stood.
Axes: see `zoo.core.state`.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.keys import Valid
from zoo.core.state import Read, State, per_row


class Slots(State):
    """Keep each token in a slot that follows from how many came before it in its row."""

    def __init__(self, batch: int) -> None:
        super().__init__(batch)
        self.longest = 0
        self.regular = True
        """Whether in each row the token number c stands at position c."""

    def slot(self, token: Int[Tensor, "*c"]) -> Int[Tensor, "*c"]:
        """Give the slot of a row's token by its number."""
        return token

    def advance(
        self, n: int, there: Bool[Tensor, "b n"] | None, position: Int[Tensor, "#b n"] | None, device: torch.device
    ) -> tuple[Int[Tensor, "#b n"], Int[Tensor, "#b n"]]:
        """Count new tokens; give each one's number in its row and its position."""
        before = self.length if isinstance(self.length, int) else self.length[:, None].to(device)
        where = self.placed(n, position, device)
        if there is None:
            number = torch.arange(n, device=device)[None] + before
            self.length, self.longest = self.length + n, self.longest + n
            self.next = self.next + n if position is None else per_row(where[:, -1] + 1, self.batch) if n else self.next
        else:
            number = there.cumsum(1) - 1 + before
            self.length = self.lengths.to(device) + there.sum(1)
            self.longest = int(self.length.max())
            behind = where.masked_fill(~there, torch.iinfo(where.dtype).min).amax(1) + 1 if n else None
            if behind is not None:  # a row goes on behind its last token that is there
                self.next = behind.where(there.any(1), per_row(self.next, self.batch).to(device))
        if there is not None or position is not None:
            fits = where == number
            self.regular = self.regular and bool((fits if there is None else fits | ~there).all())
        self.last = where
        return number, where

    def keep(self, new: dict[str, Tensor], number: Int[Tensor, "#b n"], chosen: Bool[Tensor, "#b n"] | None) -> None:
        """Write the chosen of the new tokens, or all, to their slots."""
        device = number.device
        if len(number) == 1 and (chosen is None or len(chosen) == 1):
            columns = slice(None) if chosen is None else chosen[0].nonzero()[:, 0]
            for name, x in new.items():
                self.write(name, x[:, columns], None, self.slot(number[0, columns]))
            return
        everything = torch.ones(self.batch, number.shape[1], dtype=torch.bool, device=device)
        chosen = everything if chosen is None else chosen & everything
        rows, columns = chosen.nonzero(as_tuple=True)
        slots = self.slot(number.expand_as(chosen)[rows, columns])
        for name, x in new.items():
            self.write(name, x.expand(self.batch, *x.shape[1:])[rows, columns], rows, slots)

    def refuse(self, length: int | Int[Tensor, " b"]) -> None:
        """Refuse what are no lengths.

        Raises:
            InputError: If a length is negative, or not one for each row.
        """
        if isinstance(length, Tensor) and length.shape != (self.batch,):
            raise InputError(f"lengths of shape {tuple(length.shape)} for a state of {self.batch} rows")
        if int(length if isinstance(length, int) else length.min()) < 0:
            raise InputError(f"cropped to {length if isinstance(length, int) else length.tolist()}: it is negative")

    def cut(self, length: int | Int[Tensor, " b"]) -> None:
        """Set the lengths to no more than these, and what follows to what followed then."""
        if isinstance(length, int) and isinstance(self.length, int):
            self.length = min(self.length, length)
        else:
            device = self.tensors["position"].device
            self.length = torch.minimum(self.lengths.to(device), per_row(length, self.batch).to(device))
        self.longest = self.length if isinstance(self.length, int) else int(self.length.max())
        self.next = self.length if self.regular else self._behind()
        self.last = None

    def _behind(self) -> Int[Tensor, " b"]:
        """Give the position behind the last token; of an empty row that of its first."""
        position = self.tensors["position"]
        length = self.lengths.to(position.device)
        last = position.gather(1, self.slot((length - 1).clamp(min=0))[:, None])[:, 0]
        return last + (length > 0)


class Growing(Slots):
    """Keep every key and value; the room is doubled when it is full.

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
        there: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """See `State.append`."""
        self.check(k)
        if there is None and position is None and self.regular and isinstance(self.length, int):
            return self._follow(k, v)
        number, where = self.advance(k.shape[1], there, position, k.device)
        self._make_room(k, v)
        self.keep({"k": k, "v": v, "position": where}, number, there)
        return self.read()

    def _follow(self, k: Tensor, v: Tensor) -> Read:
        """Append where all rows are equally long and every token stands at its number, as positions of slots say."""
        first = self.longest
        self.length = self.longest = self.next = first + k.shape[1]
        self._make_room(k, v)
        for name, new in (("k", k), ("v", v)):
            self.room(name, new)[:, first : self.longest] = new
        self.last = self.tensors["position"][:1, first : self.longest]
        return self.read()

    def read(self) -> Read:
        """Give all that is kept."""
        n = self.longest
        k, v, position = (self.tensors[name][:, :n] for name in ("k", "v", "position"))
        keys = None
        if isinstance(self.length, Tensor):
            keys = Valid(torch.arange(n, device=k.device) < self.length[:, None])
        return Read(k, v, keys, None if self.regular else position)

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """See `State.crop`."""
        self.refuse(length)
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
