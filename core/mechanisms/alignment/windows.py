"""Where a recurrent decoder may look, arXiv:1508.04025 sec. 3.2: all of the source, or a window (local-m, local-p).

Axes: b rows, q states of the decoder, k vectors of the source, d channels.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.ops.linear import Linear


class View(NamedTuple):
    """Which of the source a state may read, and a factor of the weights, behind the softmax.

    Args:
        allowed: of each pair.
        factor: of each pair; 1 if None.
    """

    allowed: Bool[Tensor, "b q k"]
    factor: Float[Tensor, "b q k"] | None = None


class AlignmentWindow(nn.Module, ABC):
    """Bound what states of a decoder read of a source, to `reach` places on each side of one of their own.

    Args:
        reach: D, places.

    Raises:
        ConfigError: If it is less than one place.
    """

    def __init__(self, reach: int = 10) -> None:
        super().__init__()
        if reach < 1:
            raise ConfigError(f"a window of {reach} places: at least 1 is read on each side")
        self.reach = reach

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "b q d"],
        steps: Int[Tensor, "#b q"],
        places: Int[Tensor, "b k"],
        lengths: Int[Tensor, " b"],
    ) -> View:
        """Say what may be read.

        Args:
            query: states of the decoder.
            steps: t, the place of each in the target.
            places: s, of the source's vectors.
            lengths: S, of the sources.
        """


class Monotonic(AlignmentWindow):
    """Local-m: the window stands at p_t = t, and stays at the source's end where the target is longer.

    The paper's sources and targets are of about one length, and it says nothing of a window that has left the source.
    """

    def forward(
        self,
        query: Float[Tensor, "b q d"],
        steps: Int[Tensor, "#b q"],
        places: Int[Tensor, "b k"],
        lengths: Int[Tensor, " b"],
    ) -> View:
        middle = torch.minimum(steps, lengths[:, None] - 1)
        return View((places[:, None] - middle[..., None]).abs() <= self.reach)


class Predictive(AlignmentWindow):
    """Local-p: p_t = S sigmoid(vᵀ tanh(W h_t)), and weights times a Gaussian around it, not normed again: eq. 9, 10.

    So weights sum to less than 1, and p_t learns through the Gaussian only: the window's edge has no gradient.

    Args:
        dim: channels of the states.
        reach: D, places.
        sigma: deviation of the Gaussian, places; D / 2 if None, inf for none.

    Raises:
        ConfigError: If the deviation is not positive.
    """

    def __init__(self, dim: int, reach: int = 10, sigma: float | None = None) -> None:
        super().__init__(reach)
        self.sigma = reach / 2 if sigma is None else sigma
        if not self.sigma > 0:
            raise ConfigError(f"sigma={sigma}: a Gaussian has a positive deviation")
        self.inside = Linear(dim, dim, bias=False)
        self.outside = nn.Linear(dim, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "b q d"],
        steps: Int[Tensor, "#b q"],
        places: Int[Tensor, "b k"],
        lengths: Int[Tensor, " b"],
    ) -> View:
        middle = lengths[:, None, None] * self.outside(self.inside(query).tanh()).sigmoid()
        off = places[:, None] - middle
        return View(off.detach().abs() <= self.reach, torch.exp(-(off**2) / (2 * self.sigma**2)))
