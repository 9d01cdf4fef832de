"""Precision under autocast: operations that must not be cast one by one, and sums in higher precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx


def no_autocast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Switch autocast off: it casts products, but not those that are written into a tensor."""

    @wraps(function)
    def plain(ctx: FunctionCtx, x: Tensor, *more: Any) -> Any:
        with autocast_off(x.device):
            return function(ctx, x, *more)

    return plain


def autocast_off(device: torch.device) -> AbstractContextManager[object]:
    """Switch autocast off on a device; the meta device has none, and refuses to be asked."""
    there = torch.amp.is_autocast_available(device.type)
    return torch.autocast(device.type, enabled=False) if there else nullcontext()


def autocasts(device: str) -> bool:
    """Tell whether autocast is on for a kind of device; the meta device has none, and refuses to be asked."""
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def compute_dtype(x: Tensor) -> torch.dtype:
    """Give the dtype in which products of a tensor are computed: autocast's, or its own."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if autocasts(device) else x.dtype


def precise(scores: Float[Tensor, "*b vocab"]) -> Float[Tensor, "*b vocab"]:
    """Give scores in a precision in which they can be summed up."""
    return scores if scores.dtype == torch.float64 else scores.float()
