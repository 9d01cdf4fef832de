"""The pointing score: how much of the attention lies on a thing while a word that names it is written.

Axes: b pictures, h heads, q words, k places.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo.plugins.caption.data.scenes import Box

Boxes = Sequence[Box | None]
"""Of each word, the place of what it names."""


def on_thing(boxes: Boxes, grid: tuple[int, int], words: int) -> Bool[Tensor, "q k"]:
    """Tell which places of a grid have their centre on what each word names.

    Args:
        boxes: of words; behind them no place is meant.
        grid: rows and columns of the places.
        words: how many rows are wanted.
    """
    rows, columns = ((torch.arange(count) + 0.5) / count for count in grid)
    found = torch.zeros(words, *grid, dtype=torch.bool)
    for word, box in enumerate(boxes[:words]):
        if box is not None:
            inside = (box.top <= rows) & (rows < box.bottom), (box.left <= columns) & (columns < box.right)
            found[word] = inside[0][:, None] & inside[1]
    return found.flatten(1)


def shares(
    maps: Sequence[Float[Tensor, "b h q k"]], boxes: Sequence[Boxes], grid: tuple[int, int]
) -> Float[Tensor, " named"]:
    """Give the share of attention on the thing for each word that names one, the mean of layers and heads.

    Args:
        maps: cross-attention of each layer, of the same captions; places behind others (a class token) are the last.
        boxes: of the words of each caption.
        grid: rows and columns of the places.
    """
    weights = mean_map(maps, grid)
    wanted = torch.stack([on_thing(each, grid, weights.shape[1]) for each in boxes])
    return (weights * wanted).sum(-1)[wanted.any(-1)]


def mean_map(maps: Sequence[Float[Tensor, "b h q k"]], grid: tuple[int, int]) -> Float[Tensor, "b q places"]:
    """Give the mean over layers and heads of the weights of the places of a grid."""
    return torch.stack([each.float().mean(1) for each in maps]).mean(0)[..., -grid[0] * grid[1] :].cpu()
