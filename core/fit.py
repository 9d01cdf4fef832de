"""Whether patterns that know how many positions there are fit the sets of a model that knows it too.

`attend` asks the same of a pattern at each call; a model knows more: its sets do not grow or shrink.
"""

from torch import nn

from zoo.core.attention import Attention
from zoo.core.errors import ConfigError
from zoo.core.pattern import Extent, Pattern


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
    return pattern.misfit(Extent(length, length, fixed=True))
