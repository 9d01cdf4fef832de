"""Position encodings inside attention, by name: made for each attention that a factory makes."""

from collections.abc import Callable

from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.positions.absolute import ADDED
from zoo.core.positions.attention_position import IN_ATTENTION, AttentionPosition, HeadSizes
from zoo.core.positions.relative import ALiBiPosition, ShawPosition, TablePosition, TransformerXLPosition
from zoo.core.positions.rotary import Rotary


def with_position(
    attention: Callable[[int, int], nn.Module], name: str, length: int
) -> Callable[[int, int], nn.Module]:
    """Give each attention the position encoding of this name; unchanged where it is one added to the vectors.

    Args:
        attention: makes an attention from (dim, num_heads).
        name: one of `zoo.core.positions.attention_position.IN_ATTENTION` or `ADDED`.
        length: how many vectors there usually are: a table knows that many offsets to each side.
    """
    if name in ADDED:
        return attention

    def make(dim: int, num_heads: int) -> nn.Module:
        layer = attention(dim, num_heads)
        if not isinstance(layer, AttentionLayer):
            kind = type(layer).__name__
            raise ConfigError(f"position={name!r} acts inside attention, where {kind} has no place for it")
        layer.set_position(lambda sizes: attention_position(name, sizes, length), f"position={name!r}")
        return layer

    return make


def attention_position(name: str, sizes: HeadSizes, length: int) -> AttentionPosition:
    """Make a position encoding for the sizes of an attention's heads.

    Args:
        name: one of `zoo.core.positions.attention_position.IN_ATTENTION`.
        sizes: of the attention.
        length: how many vectors there usually are.

    Raises:
        ConfigError: If the name is unknown, or the heads do not fit.
    """
    if name == "rotary":
        return Rotary(sizes.head_dim)
    if name == "alibi":
        return ALiBiPosition(sizes.num_heads)
    if name == "relative":
        return TablePosition(sizes.num_heads, max(length - 1, 0))
    if name == "transformer-xl":
        return TransformerXLPosition(sizes.dim, sizes.num_heads, sizes.head_dim)
    if name == "shaw":
        return ShawPosition(sizes.head_dim, value_dim=sizes.value_dim)
    raise ConfigError(f"position={name!r} is not one of {', '.join(ADDED + IN_ATTENTION)}")
