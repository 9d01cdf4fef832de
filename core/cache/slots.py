"""Bookkeeping of key-value caches with a slot for each token; see `zoo.core.cache.growing`.

Padding is never kept, so a row's tokens are numbered 0, 1, 2, … wherever its padding stood.
Axes: see `zoo.core.cache.state`.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.cache.state import KeyValues, per_row
from zoo.core.errors import InputError


class Slots(KeyValues):
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
        self, n: int, valid: Bool[Tensor, "b n"] | None, position: Int[Tensor, "#b n"] | None, device: torch.device
    ) -> tuple[Int[Tensor, "#b n"], Int[Tensor, "#b n"]]:
        """Count new tokens; give each one's number in its row and its position."""
        before = self.length if isinstance(self.length, int) else self.length[:, None].to(device)
        where = self.count(n, valid, position, device)
        number = (torch.arange(n, device=device)[None] if valid is None else valid.cumsum(1) - 1) + before
        if valid is None:
            self.longest += n
            self.regular = self.regular and (position is None or bool((where == number).all()))
        else:  # both at once, as reading them waits for a GPU
            fits = ((where == number) | ~valid).all()
            self.longest, regular = torch.stack([self.lengths.max(), fits.to(self.lengths.dtype)]).tolist()
            self.regular = self.regular and bool(regular)
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

    def check_length(self, length: int | Int[Tensor, " b"]) -> None:
        """Check the lengths to crop to.

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
        self.next = self.length if self.regular else self._after_last()
        self.last = None

    def _after_last(self) -> Int[Tensor, " b"]:
        """Give the position behind the last token; of an empty row that of its first."""
        position = self.tensors["position"]
        length = self.lengths.to(position.device)
        last = position.gather(1, self.slot((length - 1).clamp(min=0))[:, None])[:, 0]
        return last + (length > 0)
