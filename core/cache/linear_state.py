"""What a decoder with linear attention keeps: two sums, whose size does not grow (arXiv:2006.16236 sec. 3.4).

Axes: b rows, n new vectors, q queries, h heads, g heads of keys and values, d, e head sizes, f features.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.linear_attention import asked, divide, read, running, told, total
from zoo.core.cache.state import refuse_rows
from zoo.core.errors import ConfigError, InputError
from zoo.core.scoring.normalizers import Kernel


class Sums:
    """Keep the sums of phi(k) vᵀ and of phi(k) for each row: causal linear attention as a recurrent network.

    Tensors are laid out as for `attend`. Sums of half precision are float32.

    Args:
        norm: the kernel.
        batch: rows.

    Raises:
        InputError: If there is not at least one row.
    """

    def __init__(self, norm: Kernel, batch: int) -> None:
        if batch < 1:
            raise InputError(f"batch={batch}: a state has at least one row")
        self.norm = norm
        self.lengths: Int[Tensor, " b"] = torch.zeros(batch, dtype=torch.long)
        """Tokens of each row that were read."""
        self.sums: Float[Tensor, "b g f c"] | None = None

    def append(
        self, k: Float[Tensor, "b n g d"], v: Float[Tensor, "b n g e"], there: Bool[Tensor, "b n"] | None = None
    ) -> None:
        """Add keys and values.

        Args:
            k: keys.
            v: values.
            there: which of them are there; all if None.
        """
        self._add(*self._told(k, v, there), there)

    def read(self, q: Float[Tensor, "b q h d"]) -> Float[Tensor, "b q h e"]:
        """Let queries read all that was appended.

        Raises:
            InputError: If nothing ever was.
        """
        if self.sums is None:
            raise InputError("nothing was appended yet, so what is read has no size")
        y = divide(read(asked(self.norm, q.transpose(1, 2), self.sums.shape[1]), self.sums))
        return y.transpose(1, 2).to(q.dtype)

    def step(
        self,
        q: Float[Tensor, "b n h d"],
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        there: Bool[Tensor, "b n"] | None = None,
    ) -> Float[Tensor, "b n h e"]:
        """Append keys and values, and let the query of each read all up to its own."""
        of_keys, of_values = self._told(k, v, there)
        before = self._sums(of_keys, of_values)
        self._add(of_keys, of_values, there)
        if q.shape[1] == 1:
            return self.read(q)
        y = divide(running(asked(self.norm, q.transpose(1, 2), k.shape[2]), of_keys, of_values, before))
        return y.transpose(1, 2).to(v.dtype)

    @property
    def s(self) -> Float[Tensor, "b g f e"] | None:
        """The sum of phi(k) vᵀ; None before anything was appended."""
        return None if self.sums is None else self.sums[..., :-1]

    @property
    def z(self) -> Float[Tensor, "b g f"] | None:
        """The sum of phi(k); None before anything was appended."""
        return None if self.sums is None else self.sums[..., -1]

    @property
    def stored(self) -> int:
        """How many numbers are kept."""
        return 0 if self.sums is None else self.sums.numel()

    def reorder(self, index: Int[Tensor, " rows"]) -> None:
        """Take these rows in this order, as beam search asks; a row may be taken often or never."""
        refuse_rows(index, len(self.lengths))
        self.lengths = self.lengths[index.to(self.lengths.device)]
        if self.sums is not None:
            self.sums = self.sums[index.to(self.sums.device)]

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Refuse to forget.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"crop({length}): sums of keys cannot be taken apart; copy the state before, or read again")

    def detach(self) -> None:
        """Cut what is kept from the graph of gradients."""
        self.sums = None if self.sums is None else self.sums.detach()

    def _told(self, k: Tensor, v: Tensor, there: Tensor | None) -> tuple[Tensor, Tensor]:
        if len(k) != len(self.lengths):
            raise InputError(f"a batch of {len(k)} given to a state of {len(self.lengths)} rows")
        if there is not None:
            k, v = (x.masked_fill(~there[..., None, None], 0) for x in (k, v))
        return told(self.norm, k.transpose(1, 2), v.transpose(1, 2), there)

    def _sums(self, k: Tensor, v: Tensor) -> Tensor:
        return k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3]) if self.sums is None else self.sums

    def _add(self, k: Tensor, v: Tensor, there: Tensor | None) -> None:
        self.sums = self._sums(k, v) + total(k, v)
        self.lengths = self.lengths.to(k.device) + (k.shape[2] if there is None else there.sum(1))
