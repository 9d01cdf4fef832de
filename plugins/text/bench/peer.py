"""A model by name, and the same model, with the same weights, in its peer library."""

from typing import Any

import torch
from torch import nn

import zoo
from zoo.registry import load


def pair(name: str, dtype: torch.dtype = torch.float32, train: bool = False) -> tuple[Any, nn.Module]:
    """Make both.

    Args:
        name: the model.
        dtype: of the weights.
        train: whether they are about to be trained.
    """
    torch.manual_seed(0)
    ours: Any = zoo.create(name, dtype=dtype).train(train)
    theirs = load(ours.spec, ours.spec.peer)(ours).to(dtype).train(train)
    return ours, theirs


def ids(vocab_size: int, *shape: int) -> torch.Tensor:
    """Draw tokens of a vocabulary, none of its first ten, which may mean something."""
    return torch.randint(10, vocab_size, shape, generator=torch.Generator().manual_seed(0))
