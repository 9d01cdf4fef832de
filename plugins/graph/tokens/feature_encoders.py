"""From raw features to vectors: channels by a matrix, categories by a table; without features one vector for all.

Axes: m nodes or edges, f channels or columns, d channels of the vectors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from zoo.core import ConfigError, InputError, Linear, values_known
from zoo.plugins.graph.structure.tensor_cache import cached

Kinds = int | Sequence[int]
"""Channels of features that are numbers, or the categories of each column of whole numbers; 0 for none."""
SPELLED = 1 << 22
"""Numbers up to which categories are spelled out, 1 where one is there: 16 MiB.

The gradient of a table takes five times as long as that of a product (molecules, 30 to 200 categories).
"""
MOST = 1 << 62
"""Rows of categories that can be numbered."""
KEYWORDS = {"x": "node_features", "edge_attr": "edge_features"}
"""Which keyword of a model says what a tensor holds."""


class Categories(nn.Module):
    """Sum the vectors of the categories, one for each column, as the atom encoder of arXiv:2005.00687.

    Rows that are alike are summed once: there are few kinds of atoms and bonds.

    Args:
        kinds: categories of each column.
        dim: channels.
    """

    def __init__(self, kinds: Sequence[int], dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(sum(kinds), dim) * xavier(len(kinds), dim))
        self.kinds = tuple(kinds)

    def forward(self, x: Int[Tensor, "m f"]) -> Float[Tensor, "m d"]:
        """Give the vectors."""
        found = distinct(x, self.kinds)
        return self.of_rows(found.rows).index_select(0, found.of)

    def of_rows(self, x: Int[Tensor, "m f"]) -> Float[Tensor, "m d"]:
        """Give the vectors of rows that are not alike."""
        places = x + begins(self.kinds, x.device)
        if torch.compiler.is_exporting():
            return self.weight[places].sum(1)
        if len(x) * len(self.weight) > SPELLED:
            return embedding_bag(places, self.weight, mode="sum")
        return self.weight.new_zeros(len(x), len(self.weight)).scatter_(1, places, 1) @ self.weight


@dataclass(frozen=True, eq=False)
class Distinct:
    """Hold rows that differ, and which of them each given row is."""

    rows: Int[Tensor, "u f"]
    of: Int[Tensor, " m"]


@torch.compiler.disable  # type: ignore[untyped-decorator]
def distinct(x: Int[Tensor, "m f"], kinds: Sequence[int]) -> Distinct:
    """Find the rows that differ, once for a tensor that is read again.

    Args:
        x: features.
        kinds: categories of each column.
    """

    def make() -> Distinct:
        steps = torch.tensor([1, *kinds[:-1]], device=x.device).cumprod(0)
        numbers, of = torch.unique((x * steps).sum(1), return_inverse=True)
        rows = numbers[:, None] // steps % torch.tensor(kinds, device=x.device)
        return Distinct(rows, of)

    if not values_known(x) or prod(kinds) > MOST:
        return Distinct(x, torch.arange(x.shape[0], device=x.device))
    return cached(x, ("distinct", tuple(kinds)), make)


class Alike(nn.Module):
    """Embed nodes without features: every node gets the same learned vector.

    Args:
        dim: channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim) * xavier(1, dim))

    def forward(self, x: Shaped[Tensor, "m f"]) -> Float[Tensor, "m d"]:
        """Give the vectors."""
        return self.weight.expand(x.shape[0], -1)


def begins(kinds: Sequence[int], device: torch.device) -> Int[Tensor, " f"]:
    """Give the place of the first category of each column among all."""
    return torch.tensor([0, *kinds[:-1]], device=device).cumsum(0)


def features(kinds: Kinds, dim: int, bias: bool = True) -> Linear | Categories | Alike:
    """Make what gives a vector for raw features.

    Args:
        kinds: channels, or categories of each column; 0 for none.
        dim: channels of the vector.
        bias: whether something is added to the product of channels.
    """
    if isinstance(kinds, int):
        return Linear(kinds, dim, bias=bias) if kinds else Alike(dim)
    return Categories(kinds, dim)


def check_kinds(kinds: Kinds, name: str) -> None:
    """Refuse what says neither channels nor categories.

    Args:
        kinds: what a model was made with.
        name: the keyword.

    Raises:
        ConfigError: If it is neither.
    """
    several = isinstance(kinds, list | tuple) and kinds and all(type(each) is int and each > 0 for each in kinds)
    if not several and not (type(kinds) is int and kinds >= 0):
        raise ConfigError(f"{name}={kinds!r} is neither a number of channels nor a list of categories of each column")


def check_features(x: Tensor, kinds: Kinds, name: str, dtype: torch.dtype) -> None:
    """Refuse features that are not what a model reads.

    Args:
        x: (nodes or edges, features).
        kinds: what the model reads.
        name: of the tensor.
        dtype: of the model.

    Raises:
        InputError: If shape, dtype or values do not fit; the text names the first value.
    """
    if kinds == 0:
        return
    columns = kinds if isinstance(kinds, int) else len(kinds)
    what = f"{columns} channels" if isinstance(kinds, int) else f"{columns} columns of categories"
    made = f"{KEYWORDS[name]}= says what it reads"
    if x.shape[1] != columns:
        raise InputError(f"{name} of shape {tuple(x.shape)}: the model reads {what}; {made}")
    hidden = torch.compiler.is_compiling() or x.is_meta
    if isinstance(kinds, int):
        autocast = torch.amp.is_autocast_available(x.device.type) and torch.is_autocast_enabled(x.device.type)
        if not x.is_floating_point() or (x.dtype != dtype and not autocast):
            hint = "" if x.is_floating_point() else f", unless these are categories: {made}"
            raise InputError(f"{name} is {x.dtype}, the model is {dtype}: {name}.to({dtype}){hint}")
        whole = hidden or bool(x.sum().isfinite())  # one pass; sums that overflow are looked at one by one
        bad = None if whole else ~torch.isfinite(x)
        rule = "features are finite"
    else:
        if x.is_floating_point() or x.is_complex() or x.dtype is torch.bool:
            raise InputError(f"{name} is {x.dtype}, the model reads {what}: {name}.long(), or numbers: {made}")
        bad = None if hidden else (x < 0) | (x >= torch.tensor(kinds, device=x.device))
        rule = f"its columns have {list(kinds)} categories, from 0 on"
    if bad is not None and bool(bad.any()):
        row, column = bad.nonzero()[0].tolist()
        raise InputError(f"{name}[{row}, {column}] is {x[row, column].item()}: {rule}")


def xavier(inside: int, outside: int) -> float:
    """Give the deviation of weights by Xavier's rule; a sum of so many vectors is as long as a product would be."""
    return math.sqrt(2 / (inside + outside))
