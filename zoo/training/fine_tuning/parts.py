"""Depth of every parameter of a model, from the stem to the head, and its blocks."""

from typing import Any

from torch import nn

from zoo.core import Decoder, Stack
from zoo.core.transforms.freezing import head_keys, new_keys
from zoo.errors import ConfigError


def depths(model: nn.Module) -> dict[str, int]:
    """Give the depth of each parameter: 0 before the blocks, then that of its block, the last for all behind them.

    The blocks of a decoder come after those of its encoder, and its embedding of the target lies before the first of
    them; a norm behind a stack is as deep as its last block, or as the head where that follows. What no weights hold is
    as deep as the head. Networks of timm say themselves what follows what.

    Raises:
        ConfigError: If the model has no blocks in an order.
    """
    names = [name for name, _ in model.named_parameters()]
    own = getattr(model, "parameter_depths", None)
    found: dict[str, int] = own() if own is not None else _by_blocks(model)
    if not found:
        raise ConfigError(
            f"{type(model).__name__} has no blocks in an order, so that its layers have no depth: leave out layer_decay"
        )
    last, heads = max(found.values()), head_keys(model)
    target = _before_decoder(model, found)
    depth = {name: found.get(name, target if name.startswith("target.") else 0) for name in names}
    for norm, at in _norms(model).items():
        depth |= {name: at if at < last else last + 1 for name in names if name.startswith(norm)}
    fresh = new_keys(model)
    at_end = {name for name in names if name.startswith(fresh) or (name.startswith(heads) and name not in found)}
    return {name: last + 1 if name in at_end else at for name, at in depth.items()}


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """Give the blocks of all encoders and decoders, in order."""
    return [block for stack in _stacks(model).values() for block in stack.blocks]


def _stacks(model: nn.Module) -> dict[str, Any]:
    return {name: part for name, part in model.named_modules() if isinstance(part, Stack | Decoder)}


def _by_blocks(model: nn.Module) -> dict[str, int]:
    found: dict[str, int] = {}
    at = 0
    for name, stack in _stacks(model).items():
        for index, block in enumerate(stack.blocks):
            at += 1
            inside = f"{name}.blocks.{index}." if name else f"blocks.{index}."
            found |= {inside + key: at for key, _ in block.named_parameters()}
    return found


def _norms(model: nn.Module) -> dict[str, int]:
    """Give the norms behind stacks of blocks, and how deep the last block of each lies."""
    found, at = {}, 0
    for name, stack in _stacks(model).items():
        at += len(stack.blocks)
        found[f"{name}.norm." if name else "norm."] = at
    return found


def _before_decoder(model: nn.Module, found: dict[str, int]) -> int:
    decoders = [f"{name}." for name, stack in _stacks(model).items() if isinstance(stack, Decoder)]
    inside = [at for name, at in found.items() if name.startswith(tuple(decoders))] if decoders else []
    return min(inside) - 1 if inside else 0
