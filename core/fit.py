"""Whether patterns that know how many positions there are fit the sets of a model that knows it too.

`Pattern.fit` refuses what has no meaning, at each call; this is stricter, and for sets that do not grow or shrink.
"""

from torch import nn

from zoo.core.attention import Attention
from zoo.core.errors import ConfigError
from zoo.core.local import Neighbourhood
from zoo.core.pattern import And, Or, Pattern
from zoo.core.sparse import Blocks, Globals


def refuse_unfit(model: nn.Module, length: int) -> None:
    """Refuse a model whose attentions read its vectors by a pattern for another number of them.

    Args:
        model: the model, or its encoder.
        length: vectors in each set.

    Raises:
        ConfigError: If a pattern does not fit.
    """
    for pattern in {part.pattern for part in model.modules() if isinstance(part, Attention)}:
        why = misfit(pattern, length)
        if why:
            raise ConfigError(f"attention={str(pattern)!r} does not fit: {why}")


def misfit(pattern: Pattern, length: int) -> str | None:
    """Say why a pattern does not fit a whole set of vectors; None if it does.

    Grids and blocks must be as long as the set, and global positions lie in it.

    Args:
        pattern: who may read whom.
        length: vectors in the set.
    """
    if isinstance(pattern, And | Or):
        return misfit(pattern.left, length) or misfit(pattern.right, length)
    if isinstance(pattern, Neighbourhood):
        return _misfit_grid(pattern, length)
    if isinstance(pattern, Globals) and pattern.index and pattern.index[-1] >= length:
        return f"{pattern} names position {pattern.index[-1]}, and the {length} there are end at {length - 1}"
    if isinstance(pattern, Blocks) and -(-length // pattern.size) != len(pattern.reads):
        shown = f"{pattern!r} has {len(pattern.reads)} blocks of {pattern.size}"
        return f"{shown}, and {length} positions make {-(-length // pattern.size)}"
    return None


def _misfit_grid(pattern: Neighbourhood, length: int) -> str | None:
    size = pattern.height * pattern.width + pattern.prefix
    if size == length:
        return None
    before = f" behind {pattern.prefix}" if pattern.prefix else ""
    grid = f"{pattern} is a grid of {pattern.height} x {pattern.width}{before}: {size} positions"
    return f"{grid}, and there are {length}"
