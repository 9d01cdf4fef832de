"""Transformations of model inputs for conformance tests: one item, changed padding, changed future, permutations.

Inputs are a tuple; where a fact cannot be read off it, the functions give None.
"""

from typing import Any

import torch
from torch import Tensor

from zoo.testing import graph_inputs

Inputs = tuple[Any, ...]


def item(inputs: Inputs, index: int, answers: int) -> tuple[Inputs, Tensor] | None:
    """Take one item of a batch, and tell which of the answers are its own; None where the inputs have no common axis.

    Args:
        inputs: of a batch.
        index: of the item.
        answers: how many there are.
    """
    if graph_inputs.are_graphs(inputs):
        return graph_inputs.graph(inputs, index, answers)
    size = _length(inputs[0])
    if size is None or any(_length(part) != size for part in inputs):
        return None
    return tuple(part[index : index + 1] for part in inputs), torch.arange(answers) == index


def lengths(inputs: Inputs) -> Tensor | None:
    """Read how many vectors each item has, from a vector of lengths or a mask that is True where one is."""
    x = inputs[0]
    if not isinstance(x, Tensor) or x.ndim < 2 or graph_inputs.are_graphs(inputs):
        return None
    for part in inputs[1:]:
        if isinstance(part, Tensor) and part.shape == x.shape[:1] and not part.is_floating_point():
            return part
        if isinstance(part, Tensor) and part.shape == x.shape[:2] and part.dtype == torch.bool:
            return part.sum(1)
    return None


def poisoned(inputs: Inputs) -> Inputs | None:
    """Put NaN, or other tokens, where padding is; None where there is no padding."""
    counts = lengths(inputs)
    x = inputs[0]
    if counts is None or bool((counts >= x.shape[1]).all()):
        return None
    padding = torch.arange(x.shape[1]) >= counts[:, None]
    x = x.clone()
    x[padding] = float("nan") if x.is_floating_point() else x.max() - x[padding]
    return (x, *inputs[1:])


def with_other_future(inputs: Inputs, start: int) -> Inputs:
    """Change everything from a position on."""
    x = inputs[0].clone()
    x[:, start:] = torch.randn_like(x[:, start:]) if x.is_floating_point() else x.max() - x[:, start:]
    return (x, *inputs[1:])


def permuted(inputs: Inputs) -> tuple[Inputs, Tensor]:
    """Put the vectors that every item has into the reverse order, nodes within their graph; give also the order."""
    if graph_inputs.are_graphs(inputs):
        return graph_inputs.relabelled(inputs)
    x = inputs[0]
    counts = lengths(inputs)
    order = torch.arange(x.shape[1] if counts is None else int(counts.min())).flip(0)
    return (torch.cat([x[:, order], x[:, len(order) :]], dim=1), *inputs[1:]), order


def converted(inputs: Inputs, *, device: Any = None, dtype: torch.dtype | None = None) -> Inputs:
    """Move tensors to a device, and those with fractions to a dtype."""
    return tuple(
        part.to(device=device, dtype=dtype if part.is_floating_point() else None) if isinstance(part, Tensor) else part
        for part in inputs
    )


def _length(part: Any) -> int | None:
    if isinstance(part, Tensor):
        return len(part) if part.ndim else None
    return len(part) if isinstance(part, list) else None
