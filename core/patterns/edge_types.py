"""`EdgeKinds`: the type of each edge of a graph with few edge types.

Axes: e edges, n entries of a sparse matrix.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.ops.csr import INT32, Csr


@dataclass(frozen=True, eq=False)
class EdgeKinds:
    """Edge types: the type of each edge, such as bonds of molecules or relations of a knowledge graph.

    Args:
        of: the kind of each edge, from 0 on.
        count: how many kinds there are.

    Raises:
        InputError: If an edge is of no such kind.
    """

    of: Int[Tensor, " e"]
    count: int

    def __post_init__(self) -> None:
        if len(self.of) and not (int(self.of.min()) >= 0 and int(self.of.max()) < self.count):
            bad = int(((self.of < 0) | (self.of >= self.count)).nonzero()[0])
            raise InputError(f"edge {bad} is of kind {int(self.of[bad])}, and there are {self.count}, from 0 on")

    @cached_property
    def _places(self) -> "WeakKeyDictionary[Csr, Tensor]":
        return WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {"of": self.of, "count": self.count}  # what is kept is made anew

    def places(self, csr: Csr) -> Int[Tensor, " n"]:
        """Give the place of each entry in a table (rows, kinds); it is kept as long as the matrix."""
        if csr not in self._places:
            whole = (len(csr.pointers) - 1) * self.count
            rows = csr.rows.to(torch.int32 if whole <= INT32 else torch.int64)
            self._places[csr] = rows * self.count + self.of.to(rows.device, rows.dtype).index_select(0, csr.edges)
        return self._places[csr]
