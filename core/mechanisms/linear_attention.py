"""Linear attention, a kernel in place of the softmax, arXiv:2006.16236; causal, its state has a constant size.

Positions turn queries and keys (`rotary`) or are added to the tokens: there are no scores for a bias.
"""

from collections.abc import Callable
from functools import partial

from zoo.core.layers.attention import Attention
from zoo.core.scoring.normalizers import Kernel


def linear_attention() -> Callable[..., Attention]:
    """Give the attention factory of `attention="linear"`: an `Attention` whose norm is a `Kernel`."""
    return partial(Attention, norm=Kernel())
