"""`Static`: keys and values of an encoder, kept for cross-attention.

Axes: see `zoo.core.cache.state`.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.cache.state import KeyValues, Read
from zoo.core.errors import InputError
from zoo.core.patterns.padding import Valid
from zoo.core.patterns.pattern import Pattern


class Static(KeyValues):
    """Static key-value cache, such as of an encoder's output: keys and values are appended once.

    Args:
        batch: rows.
    """

    def __init__(self, batch: int) -> None:
        super().__init__(batch)
        self.pattern: Pattern | None = None
        """Who may read whom, as the vectors said."""

    @property
    def filled(self) -> bool:
        """Whether keys and values were appended."""
        return bool(self.tensors)

    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """See `KeyValues.append`.

        Raises:
            InputError: If keys and values are there already.
        """
        if self.filled:
            raise InputError(f"a static state of {self.tensors['k'].shape[1]} vectors is given {k.shape[1]} more")
        self.check(k)
        self.tensors = {"k": k, "v": v}
        if valid is not None:
            self.tensors["valid"] = valid
        if position is not None:
            self.tensors["position"] = position.to(k.device).expand(self.batch, -1)
        self.length = k.shape[1] if valid is None else valid.sum(1)
        return self.read()

    def read(self) -> Read:
        """Return all cached keys and values."""
        valid = self.tensors.get("valid")
        keys = None if valid is None else Valid(valid)
        return Read(self.tensors["k"], self.tensors["v"], keys, self.tensors.get("position"))

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Do nothing: the encoder's keys and values do not depend on the length of the output."""
