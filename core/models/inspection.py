"""Look into a model: the weights of its attentions, and whether their patterns fit the sets that it knows.

`attend` asks the same of a pattern at each call; a model knows more: its sets do not grow or shrink.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.engine.tracing import rows_apart
from zoo.core.errors import ConfigError
from zoo.core.layers.protocol import AttentionLayer, WeighsPairs
from zoo.core.patterns.pattern import Pattern, ShapeInfo


def check_fit(model: nn.Module, length: int) -> None:
    """Check that the attention patterns of a model fit its number of tokens.

    Args:
        model: the model, or its encoder.
        length: vectors in each set.

    Raises:
        ConfigError: If a pattern does not fit.
    """
    for pattern in {part.pattern for part in model.modules() if isinstance(part, AttentionLayer)}:
        why = misfit(pattern, length)
        if why:
            raise ConfigError(f"attention={str(pattern)!r} does not fit: {why}")


def misfit(pattern: Pattern, length: int) -> str | None:
    """Return why a pattern does not fit a whole sequence; None if it does.

    Grids and blocks must be as long as the set, and global positions lie in it.

    Args:
        pattern: who may read whom.
        length: vectors in the set.
    """
    return pattern.misfit(ShapeInfo(length, length, fixed=True))


def attention_maps(model: nn.Module, *inputs: object) -> list[Float[Tensor, "b h q k"]]:
    """Run a model once and give the weights of each attention in it, in the order in which they were used.

    Attention is a `WeighsPairs`, whose method `weights` takes what `forward` takes.
    """
    return _recorded(model, inputs, lambda args, named: True)


def cross_attention_maps(model: nn.Module, *inputs: object) -> list[Float[Tensor, "b h q k"]]:
    """Run a model once and give the weights with which each layer of its decoder reads the encoder; none without one.

    Row q are the weights while the token behind the q-th of the target is written.
    """
    return _recorded(model, inputs, lambda args, named: context_of(args, named) is not None)


def context_of(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Give the encoder's vectors among the arguments of an attention or of a decoder; None in self-attention."""
    return named.get("context") if named.get("context") is not None else (*args, None)[1]


@torch.no_grad()
def _recorded(
    model: nn.Module, inputs: tuple[object, ...], wanted: Callable[[tuple[Any, ...], dict[str, Any]], bool]
) -> list[Float[Tensor, "b h q k"]]:
    maps: list[Tensor] = []

    def record(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if wanted(args, named):
            maps.append(module.weights(*args, **named))

    layers = [module for module in model.modules() if issubclass(type(module), WeighsPairs)]
    hooks = [layer.register_forward_pre_hook(record, with_kwargs=True) for layer in layers]
    try:
        with rows_apart():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return maps
