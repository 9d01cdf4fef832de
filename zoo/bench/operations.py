"""Counting the operations of a model: torch's counter, and the one kernel it has no formula for."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

Shape = Sequence[int]


def multiply_adds(model: nn.Module, *inputs: Any) -> int:
    """Count the multiply-adds of one forward, half the floating-point operations.

    Args:
        model: counted as it is, in training or in evaluation.
        inputs: of the model, on its device; the whole batch counts.
    """
    counter = FlopCounterMode(display=False, custom_mapping=_MISSING)
    with torch.no_grad(), counter:
        model(*inputs)
    return (counter.get_total_flops() + 1) // 2


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Count two products: queries by keys, weights by values."""
    return sdpa_flop_count(query, key, value)


# torch 2.11 has formulas for the attention of accelerators only; on CPUs it would count as nothing
_MISSING = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention}
