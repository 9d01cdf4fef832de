"""Packing: remove padding by concatenating the valid vectors of all rows, and restore it.

Axes: b rows, n places, m vectors that are there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from jaxtyping import Bool, Int
from torch import Tensor, nn

from zoo.core.engine import tracing
from zoo.core.layers.blocks import Block
from zoo.core.layers.mlp import Mlp
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.ops.tensor_check import values_known
from zoo.core.patterns.canonical import by_offset
from zoo.core.patterns.padding import Lengths, Segments, Valid
from zoo.core.tokens import Tokens

FULL = 0.85
"""Share of the places that are taken from which on packing costs more than it saves."""


@dataclass(frozen=True)
class Packed:
    """Packed batch: the valid vectors in one row, and how to unpack them.

    Args:
        tokens: one row of packed sets.
        index: where each vector stood, rows one behind the other.
        whole: the batch they are from.
    """

    tokens: Tokens
    index: Int[Tensor, " m"]
    whole: Tokens

    def back(self, tokens: Tokens) -> Tokens:
        """Unpack vectors to the batch, with 0 in padding."""
        b, n = self.whole.x.shape[:2]
        x = tokens.x[0]
        return self.whole.with_x(x.new_zeros(b * n, x.shape[1]).index_copy(0, self.index, x).view(b, n, -1))


def pack(tokens: Tokens) -> Packed | None:
    """Pack the valid vectors of a batch into one row; None where that is not faster.

    Args:
        tokens: a batch whose pattern knows only how far apart two vectors stand.
    """
    if not isinstance(tokens.keys, Lengths | Valid) or not values_known(tokens.x):
        return None
    if tracing.row_by_row() or not (tokens.pattern is None or by_offset(tokens.pattern)):
        return None
    valid = tokens.valid()
    assert valid is not None
    index = valid.flatten().nonzero()[:, 0]
    if not 0 < len(index) <= FULL * valid.numel() or (isinstance(tokens.keys, Valid) and has_holes(valid)):
        return None
    row, column = index // valid.shape[1], index % valid.shape[1]
    position = column if tokens.position is None else tokens.positions.expand(valid.shape)[row, column]
    x = tokens.x.flatten(0, 1).index_select(0, index)
    return Packed(replace(tokens, x=x[None], keys=Segments(row[None]), position=position[None]), index, tokens)


def has_holes(valid: Bool[Tensor, "b n"]) -> bool:
    """Return whether padding lies between the valid vectors of a row: packed, they would be neighbours."""
    begins = valid.clone()
    begins[:, 1:] &= ~valid[:, :-1]
    return bool((begins.sum(1) > 1).any())


def packable(blocks: Iterable[nn.Module]) -> bool:
    """Tell whether blocks do the same with sets side by side: they mix vectors by attention only, by their offsets.

    A block that mixes them in other ways too may have a method `packs()` that tells whether it keeps sets apart.
    """
    return all(_is_packable(block) for block in blocks)


def _is_packable(block: nn.Module) -> bool:
    own = getattr(block, "packs", None)
    if callable(own):
        return bool(own())
    return (
        isinstance(block, Block)
        and isinstance(getattr(block, "mlp", None), Mlp)
        and keeps_sets_apart(block.attention)
        and not (block.training and block.drop_path.probability)
    )


def keeps_sets_apart(attention: nn.Module) -> bool:
    """Tell whether an attention computes several sets in one row as if each were alone."""
    return isinstance(attention, AttentionLayer) and attention.packs()
