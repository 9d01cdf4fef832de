"""`Int8Matrix`: the weights of a linear layer or an embedding as int8, with a scale for each row."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn
from torch.nn.functional import embedding, linear
from torch.utils._pytree import tree_map_only

from zoo.core.errors import ConfigError
from zoo.core.ops.autocast import compute_dtype
from zoo.core.ops.int8 import int8_products
from zoo.core.ops.onednn import traced

LARGEST = 127
"""The most that a weight can be, of both signs."""
BLOCK = 2**22
"""Weights that are turned into floats at a time."""
CACHED = 3 * 2**16
"""Weights that are turned into the same floats one block after another, so that these stay in the processor's cache."""


class Int8Matrix(nn.Module):
    """Weights by row: `int8 * scale`, in the place of the parameter that a linear layer or an embedding reads.

    Products and look-ups take it as it is; any other operation is given the floats that it stands for, which is slow.
    Gradients reach what is multiplied, not the weights.

    Args:
        int8: from -127 to 127.
        scale: of each row.
    """

    int8: Tensor
    scale: Tensor
    _packed: int8_products.Packed | None
    _parts: dict[tuple[int, int, int], "Int8Matrix"]

    def __init__(self, int8: Int8[Tensor, "e d"], scale: Float[Tensor, " e"]) -> None:
        super().__init__()
        self.register_buffer("int8", int8)
        self.register_buffer("scale", scale)
        self._forget()

    @classmethod
    def of(cls, weight: Float[Tensor, "e d"]) -> "Int8Matrix":
        """Round a matrix, symmetric by row: the largest weight becomes 127, and others are off by scale / 2 at most.

        What the result stands for gives the same result again.

        Raises:
            ConfigError: If a weight is infinite or NaN.
        """
        weight = weight.detach()
        largest = weight.abs().amax(1)
        if not torch.isfinite(largest).all():
            raise ConfigError("weights with NaN or infinity cannot be int8")
        scale = (largest / LARGEST).clamp(min=torch.finfo(weight.dtype).tiny)
        for _ in range(2):  # until 127 * scale / 127 is scale, which one rounding may miss
            scale = scale * LARGEST / LARGEST
        rounded = (weight.float() / scale.float()[:, None]).round_().clamp_(-LARGEST, LARGEST)
        return cls(rounded.to(torch.int8), scale)

    def multiply(self, x: Float[Tensor, "*n d"], bias: Float[Tensor, " e"] | None) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`: by bytes where oneDNN does that, else with blocks of rows as floats."""
        if int8_products.serves(x, self.int8, bias):
            if self._packed is None:
                self._packed = int8_products.pack(self.int8, self.scale)
            return int8_products.multiply(x, self._packed, bias)
        size = max(1, BLOCK // max(self.int8.shape[1], 1))
        parts = zip(self.int8.split(size), self.scale.split(size), strict=True)
        if compute_dtype(x) is torch.float16:  # sums of whole numbers up to 127 would be infinite
            y = torch.cat([linear(x, (block * scale[:, None]).to(x.dtype)) for block, scale in parts], -1)
        else:
            products = self._cached(x) if _forgotten(x) else [linear(x, block.to(x.dtype)) for block, _ in parts]
            y = torch.cat(products, -1) * self.scale.to(x.dtype)
        return y if bias is None else y + bias

    def _cached(self, x: Float[Tensor, "*n d"]) -> list[Tensor]:
        """Multiply by blocks that overwrite each other: for one vector .53 of the time of one block (AMD, AVX2)."""
        size = max(1, CACHED // max(self.int8.shape[1], 1))
        floats = x.new_empty(min(size, len(self.int8)), self.int8.shape[1])
        return [linear(x, floats[: len(block)].copy_(block)) for block in self.int8.split(size)]

    def lookup(self, ids: Int[Tensor, "*n"]) -> Float[Tensor, "*n d"]:
        """Give rows."""
        return self.int8[ids].to(self.dtype) * self.scale[ids][..., None]

    def dequantized(self) -> Float[Tensor, "e d"]:
        """Give the floats that it stands for."""
        return self.int8.to(self.dtype) * self.scale[:, None]

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.int8.shape

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of what it stands for."""
        return self.scale.dtype

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.int8.device

    def __getitem__(self, rows: Any) -> "Int8Matrix | Tensor":
        """Give a range of rows as such a matrix, the same each time; anything else as floats."""
        if not isinstance(rows, slice):
            return self.dequantized()[rows]
        key = rows.indices(len(self.int8))
        if key not in self._parts:
            self._parts[key] = Int8Matrix(self.int8[rows], self.scale[rows])
        return self._parts[key]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.int8)

    def __getattr__(self, name: str) -> Any:
        """Give any other attribute of a tensor as the floats have it."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or not hasattr(Tensor, name):
                raise
            return getattr(self.dequantized(), name)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Let PyTorch's own layers use it."""
        own = {linear: _linear, embedding: _embedding}.get(func)
        if own is not None and (found := own(*args, **(kwargs or {}))) is not None:
            return found
        args, named = tree_map_only(cls, cls.dequantized, (args, dict(kwargs or {})))
        return func(*args, **named)

    def _forget(self) -> None:
        self._packed, self._parts = None, {}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Int8Matrix":
        self._forget()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._forget()
        super()._load_from_state_dict(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made from the weights again."""
        return self.__dict__ | {"_packed": None, "_parts": {}}

    def extra_repr(self) -> str:
        """Return rows and columns."""
        return f"{self.shape[0]}, {self.shape[1]}"


def _forgotten(x: Tensor) -> bool:
    """Tell whether a product with these vectors keeps nothing of the matrix for gradients, and nothing traces it."""
    plain = type(x) in (Tensor, nn.Parameter) and x.is_cpu and not torch.is_autocast_enabled("cpu")
    return plain and not (torch.is_grad_enabled() and x.requires_grad) and not traced()


def _linear(input: Any, weight: Any, bias: Tensor | None = None) -> Tensor | None:
    """Multiply, called as PyTorch's `linear`; None where the weights are floats."""
    return weight.multiply(input, bias) if isinstance(weight, Int8Matrix) else None


def _embedding(input: Any, weight: Any, *args: Any, **more: Any) -> Tensor | None:
    """Look up, called as PyTorch's `embedding`; None where the weights are floats."""
    return weight.lookup(input) if isinstance(weight, Int8Matrix) else None
