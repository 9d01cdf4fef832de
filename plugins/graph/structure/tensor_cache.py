"""Cache of values derived from tensors, which lives as long as the tensors: a graph is prepared once."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

Made = TypeVar("Made")


class TensorCache:
    """Keep what is made of tensors; it is forgotten with the tensor, or once PyTorch writes to it.

    What is written by others, as through a NumPy array or `.data`, goes unseen: give a new tensor then. Of tensors made
    in inference mode, whose writes PyTorch does not count, nothing is kept.
    """

    def __init__(self) -> None:
        self._known: Any = WeakTensorKeyDictionary()

    def __call__(self, tensor: Tensor, key: Hashable, make: Callable[[], Made]) -> Made:
        """Give what was made of a tensor, or make it.

        Args:
            tensor: the very object counts, not its values.
            key: what is made of it.
            make: makes it; what it gives must not hold the tensor itself, but may hold `tensor.detach()`.
        """
        if torch.compiler.is_compiling() or tensor.is_inference():
            return make()
        known, state = self._known.get(tensor), (tensor._version, tensor.data_ptr(), tensor.shape)
        if known is None or known[0] != state:
            known = state, {}
            self._known[tensor] = known
        answers: dict[Hashable, Made] = known[1]
        if key not in answers:
            answers[key] = make()
        return answers[key]


cached = TensorCache()
"""What the whole process keeps."""
