"""Checks of tensors: `check_tensor` refuses what is none, `values_known` says if values can be read."""

from reprlib import repr as shortened
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.ops.first_order import transforms_active


def check_tensor(value: Any, name: str) -> None:
    """Refuse an input of a model that is no tensor; stems call it first.

    Args:
        value: the input.
        name: of the input, for the error.

    Raises:
        InputError: If it is no tensor; the text repeats the value and says what makes tensors.
    """
    if isinstance(value, Tensor):
        return
    shown = f" of shape {value.shape}" if isinstance(value, np.ndarray) else f"={shortened(value)}"
    raise InputError(f"{name}{shown} is of type {type(value).__name__}, not a tensor: {_hint(value, name)}")


def values_known(x: Tensor) -> bool:
    """Tell whether a tensor's values can be read: not on meta, in `torch.compile`, in `vmap` or for a CUDA graph."""
    return not (x.is_meta or torch.compiler.is_compiling() or transforms_active() or captured(x))


def captured(x: Tensor) -> bool:
    """Tell whether what is computed with a tensor is being recorded as a CUDA graph, which may not wait for it."""
    return x.is_cuda and torch.cuda.is_current_stream_capturing()


def bounds(x: Tensor) -> tuple[int, int]:
    """Give the least and the largest of whole numbers, of which there is one at least; a GPU is waited for once."""
    low, high = torch.stack(x.aminmax()).tolist()
    return low, high


def _hint(value: Any, name: str) -> str:
    if isinstance(value, np.ndarray):
        return f"write torch.from_numpy({name}), or zoo.preprocess(NAME), which makes tensors of raw inputs"
    if isinstance(value, list | tuple) and any(isinstance(part, Tensor) for part in value):
        return "unpack the inputs, as model(*inputs), or pad them to one length and write torch.stack"
    return "zoo.preprocess(NAME) makes tensors of raw inputs, such as texts and files"
