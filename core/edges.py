"""`Edges`: attention where a graph says who reads whom."""

from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.pattern import Pattern


@dataclass(frozen=True, eq=False)
class Edges(Pattern):
    """Let a query read the keys that an edge joins it to.

    Args:
        index: as PyTorch Geometric's edge_index: keys (sources) in row 0, queries (targets) in row 1.

    Raises:
        InputError: If it is no integer (2, edges), or an edge is negative.
    """

    index: Int[Tensor, "2 e"]
    by_value = False

    def __post_init__(self) -> None:
        if self.index.ndim != 2 or len(self.index) != 2 or self.index.is_floating_point():
            raise InputError(f"Edges needs integers (2, edges); got {tuple(self.index.shape)} of {self.index.dtype}")

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        raise NotImplementedError
