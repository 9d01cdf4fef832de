"""`Processor`, what changes the scores of the next token, and the checks of what it returns.

Axes: r rows, n tokens that each has read.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError

Processor = Callable[[Int[Tensor, "r n"], Float[Tensor, "r vocab"]], Float[Tensor, "r vocab"]]
"""Gives new scores from the tokens that rows have read, prompt and answer without padding, and the scores of the next.

The signature is that of a logits processor of Hugging Face transformers, so those work here, too. -∞ forbids a token.
"""


def name_of(processor: Any) -> str:
    """Name a processor in an error: its class, or a function's own name."""
    return getattr(processor, "__name__", type(processor).__name__)


def apply(
    processor: Processor, ids: Int[Tensor, "r n"], scores: Float[Tensor, "r vocab"], rows: Int[Tensor, " r"]
) -> Float[Tensor, "r vocab"]:
    """Let a processor change scores.

    Args:
        processor: which one.
        ids: what was read.
        scores: of the next token.
        rows: which rows of the batch these are, several for the beams of one; -1 for those that need no further token.

    Raises:
        ConfigError: If what it returns has another shape, NaN, or no token left for any of the beams of a row.
    """
    found: Any = processor(ids, scores)
    if not isinstance(found, Tensor) or found.shape != scores.shape or not found.is_floating_point():
        what = f"{found.dtype} of {tuple(found.shape)}" if isinstance(found, Tensor) else repr(found)
        raise ConfigError(
            f"the processor {name_of(processor)} returned {what} for scores of {tuple(scores.shape)}: give scores of "
            "that shape back"
        )
    best = found.amax(-1)
    if bool(best.isnan().any()):
        raise ConfigError(f"the processor {name_of(processor)} returned NaN for row {int(rows[best.isnan()][0])}")
    dead = best == -torch.inf
    stuck = rows[dead & (rows >= 0)]
    stuck = stuck[~torch.isin(stuck, rows[~dead])]
    if len(stuck):
        raise ConfigError(
            f"the processor {name_of(processor)} leaves no token for row {int(stuck[0])} behind {ids.shape[1]} tokens: "
            "all scores are -inf"
        )
    return found.to(scores.dtype)
