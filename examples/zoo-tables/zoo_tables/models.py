"""FT-Transformer: each cell of a row is a token, arXiv:2106.11959 sec. 3.3."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo import InputError
from zoo.core import Attention, Encoder, Model, Tokens, head


class CellStem(nn.Module):
    """Make a vector of each cell, behind one for the label.

    A number x is x·w + b of its column; one that is missing (NaN) has a vector of its own. A category is a row of its
    column's table, whose first row is for what is missing or unknown.

    Args:
        numbers: columns of numbers.
        categories: sizes of the columns of categories, the unknown not counted.
        dim: channels.
    """

    def __init__(self, numbers: int, categories: Sequence[int], dim: int) -> None:
        super().__init__()
        self.numbers, self.columns = numbers, len(categories)
        self.label = nn.Parameter(torch.empty(1, dim))
        self.weight, self.bias, self.missing = (nn.Parameter(torch.empty(numbers, dim)) for _ in range(3))
        sizes = [size + 1 for size in categories]
        self.register_buffer("offsets", torch.tensor([sum(sizes[:at]) for at in range(len(sizes))], dtype=torch.long))
        self.embed = nn.Embedding(sum(sizes), dim)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=dim**-0.5)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tokens:
        """Read numbers (batch, columns) with NaN for what is missing, and ids of categories (batch, columns)."""
        if numbers.shape[1:] != (self.numbers,) or categories.shape[1:] != (self.columns,):
            shapes = f"{tuple(numbers.shape)} and {tuple(categories.shape)}"
            raise InputError(f"rows of {shapes}, not (batch, {self.numbers}) and (batch, {self.columns})")
        missing = numbers.isnan()[..., None]
        x = numbers.nan_to_num()[..., None].to(self.weight.dtype) * self.weight + self.bias
        cells = [x.where(~missing, self.missing), self.embed(categories + self.offsets)]
        return Tokens(torch.cat([self.label.expand(len(numbers), 1, -1), *cells], 1))


class RowTransformer(Model):
    """Classify a row of a table, by the vector in front of its cells."""

    def __init__(
        self,
        numbers: int,
        categories: Sequence[int],
        dim: int,
        depth: int,
        num_heads: int,
        num_classes: int = 2,
        task: str = "classify",
        attention: Callable[[int, int], nn.Module] = Attention,
    ) -> None:
        encoder = Encoder(dim, depth, num_heads, 2 * dim, attention=attention)
        super().__init__(CellStem(numbers, categories, dim), encoder, head(task, dim, num_classes, pool="first"))


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw rows; each column of numbers and of categories has cells that are missing."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(batch_size, config["numbers"], generator=generator)
    numbers[torch.rand(numbers.shape, generator=generator) < 0.3] = torch.nan
    if numbers.numel():
        numbers[0], numbers[1:2] = torch.nan, 0.5  # so that the vectors for both are read, whatever is drawn
    sizes = torch.tensor(config["categories"], dtype=torch.long)
    draws = torch.rand(batch_size, len(sizes), generator=generator)
    return numbers, (draws * (sizes + 1)).long()
