"""Activation checkpointing: `recomputed` stores only the inputs of blocks, and recomputes the rest."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn
from torch.utils.checkpoint import checkpoint

from zoo.core.transforms.forward_override import overridden


@contextmanager
def recomputed(blocks: Iterable[nn.Module]) -> Iterator[None]:
    """Let blocks keep only their inputs for the backward pass, until the `with` ends; each goes forward twice.

    The backward pass may follow behind the `with`. Source: arXiv:1604.06174 sec. 4.

    Args:
        blocks: as of a `Stack`.
    """
    with overridden(blocks, lambda block: partial(checkpoint, block.forward, use_reentrant=False)):
        yield
