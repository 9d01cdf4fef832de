"""`Rows`: each set of a batch as a row of its own, its vectors first and padding behind them.

A mechanism that reads places (landmarks, blocks, matrices of positions) then gives a padded set, a packed one and one
with padding in front the answer of the set alone.
Axes: b rows, n places, r rows and m places of the sets, h heads, d channels.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.patterns.front import front_order
from zoo.core.patterns.padding import Lengths, Segments, Unpacked
from zoo.core.scoring.normalizers import upcast
from zoo.core.tokens import Tokens


@dataclass(frozen=True)
class Rows:
    """Say where the vectors of each set go, and which places are taken.

    Args:
        taken: which places of the given rows hold a vector; None if all do.
        order: for each place the one that its vector comes from; None where they stay.
        unpacked: where the vectors of packed sets go; None for one set in each row.
    """

    taken: Bool[Tensor, "b n"] | None = None
    order: Int[Tensor, "b n"] | None = None
    unpacked: Unpacked | None = None

    @classmethod
    def of(cls, tokens: Tokens) -> "Rows":
        """Read it from what the tokens say of their padding.

        Raises:
            InputError: If a packed set stands in pieces.
        """
        taken, keys = tokens.valid(), tokens.keys
        if isinstance(keys, Segments):
            if not keys.contiguous:
                raise InputError(f"sets {keys.ids.tolist()} of packed rows stand in pieces: place each in one piece")
            return cls(taken, unpacked=keys.unpacked)
        if taken is None or isinstance(keys, Lengths):
            return cls(taken)
        return cls(taken, order=front_order(taken))

    def front(self, x: Float[Tensor, "b n h d"]) -> Float[Tensor, "r h m d"]:
        """Move vectors to the front of their rows, heads first; padding is 0, half precision becomes float32."""
        x = upcast(x)
        if self.taken is not None:
            x = x.masked_fill(~self.taken[..., None, None], 0)
        if self.unpacked is not None:
            x = self.unpacked.pad(x)
        elif self.order is not None:
            x = x.gather(1, self.order[..., None, None].expand_as(x))
        return x.transpose(1, 2)

    def back(self, y: Float[Tensor, "r h m d"], like: Float[Tensor, "b n _ _"]) -> Float[Tensor, "b n h d"]:
        """Move answers back to where the vectors stood, in their dtype; padding is 0."""
        y = y.transpose(1, 2)
        if self.unpacked is not None:
            return self.unpacked.repack(y, *like.shape[:2]).to(like.dtype)
        if self.order is not None:
            y = torch.zeros_like(y).scatter(1, self.order[..., None, None].expand_as(y), y)
        if self.taken is not None:
            y = y.masked_fill(~self.taken[..., None, None], 0)
        return y.to(like.dtype)

    def valid(self, x: Float[Tensor, "r h m d"]) -> Bool[Tensor, "r m"]:
        """Tell which places of the moved rows are taken."""
        if self.unpacked is not None:
            lengths = self.unpacked.lengths
        elif self.taken is None:
            return torch.ones(x.shape[0], x.shape[2], dtype=torch.bool, device=x.device)
        else:
            lengths = self.taken.sum(1)
        return torch.arange(x.shape[2], device=x.device) < lengths.to(x.device)[:, None]
