"""The state of causal linear attention: two sums, of constant size (arXiv:2006.16236 sec. 3.4).

Axes: b rows, n new vectors, q queries, h heads, g heads of keys and values, d, e head sizes, f features.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.linear_attention import divide, key_features, query_features, read, running, total
from zoo.core.cache.fixed import FixedState
from zoo.core.errors import InputError
from zoo.core.scoring.normalizers import Kernel


class LinearAttentionState(FixedState):
    """Keep the sums of phi(k) vᵀ and of phi(k) for each row: causal linear attention as a recurrent network.

    Tensors are laid out as for `attend`. Sums of half precision are float32.

    Args:
        norm: the kernel.
        batch: rows.
    """

    def __init__(self, norm: Kernel, batch: int) -> None:
        super().__init__(batch)
        self.norm = norm

    @property
    def sums(self) -> Float[Tensor, "b g f c"] | None:
        """Both sums, that of phi(k) as the last column; None before anything was appended."""
        return self.tensors.get("sums")

    def append(
        self, k: Float[Tensor, "b n g d"], v: Float[Tensor, "b n g e"], valid: Bool[Tensor, "b n"] | None = None
    ) -> None:
        """Add keys and values.

        Args:
            k: keys.
            v: values.
            valid: which of them are there; all if None.
        """
        self._add(*self._features(k, v, valid), valid, None)

    def read(self, q: Float[Tensor, "b q h d"]) -> Float[Tensor, "b q h e"]:
        """Let queries read all that was appended.

        Raises:
            InputError: If nothing ever was.
        """
        if self.sums is None:
            raise InputError("nothing was appended yet, so what is read has no size")
        y = divide(read(query_features(self.norm, q.transpose(1, 2), self.sums.shape[1]), self.sums))
        return y.transpose(1, 2).to(q.dtype)

    def step(
        self,
        q: Float[Tensor, "b n h d"],
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Float[Tensor, "b n h e"]:
        """Append keys and values, and let the query of each read all up to its own.

        Args:
            q: queries.
            k: keys.
            v: values.
            valid: which of them are there; all if None.
            position: where they stand; what follows if None.
        """
        phi_k, values = self._features(k, v, valid)
        before = self._sums(phi_k, values)
        self._add(phi_k, values, valid, position)
        if q.shape[1] == 1:
            return self.read(q)
        y = divide(running(query_features(self.norm, q.transpose(1, 2), k.shape[2]), phi_k, values, before))
        return y.transpose(1, 2).to(v.dtype)

    @property
    def s(self) -> Float[Tensor, "b g f e"] | None:
        """The sum of phi(k) vᵀ; None before anything was appended."""
        return None if self.sums is None else self.sums[..., :-1]

    @property
    def z(self) -> Float[Tensor, "b g f"] | None:
        """The sum of phi(k); None before anything was appended."""
        return None if self.sums is None else self.sums[..., -1]

    def _features(self, k: Tensor, v: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
        self.check(k)
        if valid is not None:
            k, v = (x.masked_fill(~valid[..., None, None], 0) for x in (k, v))
        return key_features(self.norm, k.transpose(1, 2), v.transpose(1, 2), valid)

    def _sums(self, k: Tensor, v: Tensor) -> Tensor:
        return k.new_zeros(*k.shape[:2], k.shape[3], v.shape[3]) if self.sums is None else self.sums

    def _add(self, k: Tensor, v: Tensor, valid: Tensor | None, position: Tensor | None) -> None:
        self.tensors["sums"] = self._sums(k, v) + total(k, v)
        self.count(k.shape[2], valid, position, k.device)


Sums = LinearAttentionState
"""The name in `zoo.core` since before the class had the field's."""
