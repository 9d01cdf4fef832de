"""Position encodings inside attention, by name: made for each attention that a factory makes."""

from collections.abc import Callable

from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.positions.absolute import ADDED
from zoo.core.positions.attention_position import INNER, InnerPosition
from zoo.core.positions.relative import ALiBiPosition, ShawPosition, TablePosition, TransformerXLPosition
from zoo.core.positions.rotary import Rotary


def with_position(
    attention: Callable[[int, int], nn.Module], name: str, length: int
) -> Callable[[int, int], nn.Module]:
    """Give each attention the position encoding of this name; unchanged where it is one added to the vectors.

    Args:
        attention: makes an attention from (dim, num_heads).
        name: one of `zoo.core.positions.attention_position.INNER` or `ADDED`.
        length: how many vectors there usually are: a table knows that many offsets to each side.
    """
    if name in ADDED:
        return attention

    def make(dim: int, num_heads: int) -> nn.Module:
        layer = attention(dim, num_heads)
        if not isinstance(layer, Attention) or not hasattr(layer, "qkv"):
            kind = type(layer).__name__
            raise ConfigError(f"position={name!r} acts inside attention, where {kind} has no place for it")
        if layer.position is not None:
            raise ConfigError(f"position={name!r} for an attention that has {layer.position} already")
        layer.position = inner_position(name, layer, length)
        return layer

    return make


def inner_position(name: str, layer: Attention, length: int) -> InnerPosition:
    """Make a position encoding that fits an attention.

    Args:
        name: one of `zoo.core.positions.attention_position.INNER`.
        layer: the attention.
        length: how many vectors there usually are.

    Raises:
        ConfigError: If the name is unknown, or the attention's heads do not fit.
    """
    if name == "rotary":
        return Rotary(layer.head_dim)
    if name == "alibi":
        return ALiBiPosition(layer.num_heads)
    if name == "relative":
        return TablePosition(layer.num_heads, max(length - 1, 0))
    if name == "transformer-xl":
        return TransformerXLPosition(layer.qkv.in_features, layer.num_heads, layer.head_dim)
    if name == "shaw":
        return ShawPosition(layer.head_dim, value_dim=layer.value_dim)
    raise ConfigError(f"position={name!r} is not one of {', '.join(ADDED + INNER)}")
