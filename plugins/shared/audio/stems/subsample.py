"""From a frame every 10 ms to a vector every 40 ms: two convolutions that each keep every second frame.

How many vectors come out is counted exactly, and what is not there counts as zeros, alone and in a batch alike.
Axes: b sounds, n frames, m bands, d channels.
"""

from functools import partial

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core import Chain, ConfigError, Linear, Pointwise, Windows, gelu, relu
from zoo.plugins.shared.audio.lengths import cleared, halved

KERNEL = 3
"""Frames that a convolution reads."""
FEWEST = 7
"""Bands of which two convolutions leave one."""


def around(ahead: bool) -> tuple[int, int]:
    """Give the padding in front and behind: a frame on both sides, or two in front, so that nothing is read ahead."""
    return (1, 1) if ahead else (2, 0)


class Subsample(nn.Module):
    """Two convolutions along time, each with GELU: a vector is made of the features of 7 frames, 85 ms.

    As the stem of arXiv:2212.04356 sec. 2.2, which keeps every second frame once only.

    Args:
        bands: features of a frame.
        dim: channels.
        ahead: whether a vector reads up to 3 frames that come later.
    """

    def __init__(self, bands: int, dim: int, *, ahead: bool = True) -> None:
        super().__init__()
        self.padding = around(ahead)
        self.first = Linear(KERNEL * bands, dim)
        self.second = Linear(KERNEL * dim, dim)

    def forward(
        self, x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None = None
    ) -> tuple[Float[Tensor, "b q d"], Int[Tensor, " b"] | None]:
        """Return the vectors, and the number of valid ones of each row.

        Args:
            x: features.
            count: frames that are there; all if None.
        """
        for layer in (self.first, self.second):
            x = convolved(layer, pad(cleared(x, count), (0, 0, *self.padding)))
            count = None if count is None else halved(count)
        return x, count

    def stream(self) -> Chain:
        """Give the stage that does the same while frames come."""
        dim = self.first.out_features
        layers = self.first, self.second
        return Chain([Windows(partial(convolved, layer), (dim,), KERNEL, 2, self.padding) for layer in layers])


def convolved(layer: nn.Module, x: Float[Tensor, "b n e"]) -> Float[Tensor, "b h d"]:
    """Lay every second frame beside those around it, so that the convolution is one product, and apply GELU."""
    return gelu(layer(x.unfold(1, KERNEL, 2).flatten(2)))


class Subsample2d(nn.Module):
    """Two 3x3 convolutions on the plane of time and bands, each with ReLU, and a projection: arXiv:2005.08100 sec. 2.

    Args:
        bands: features of a frame; along them nothing is padded.
        dim: channels.
        ahead: whether a vector reads up to 3 frames that come later.

    Raises:
        ConfigError: If no band is left.
    """

    def __init__(self, bands: int, dim: int, *, ahead: bool = True) -> None:
        super().__init__()
        if bands < FEWEST:
            raise ConfigError(f"bands={bands}: two convolutions along the bands leave none of fewer than {FEWEST}")
        self.padding = around(ahead)
        self.first = nn.Conv2d(1, dim, KERNEL, stride=2)
        self.second = nn.Conv2d(dim, dim, KERNEL, stride=2)
        self.bands = (bands - 1) // 2, ((bands - 1) // 2 - 1) // 2
        """What is left of them behind each convolution."""
        self.project = Linear(dim * self.bands[1], dim)

    def forward(
        self, x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None = None
    ) -> tuple[Float[Tensor, "b q d"], Int[Tensor, " b"] | None]:
        """Return the vectors, and the number of valid ones of each row.

        Args:
            x: features.
            count: frames that are there; all if None.
        """
        plane = x[:, None]
        for layer in (self.first, self.second):
            plane = cleared(plane.transpose(1, 2), count).transpose(1, 2)
            plane = relu(layer(pad(plane, (0, 0, *self.padding))))
            count = None if count is None else halved(count)
        return self.project(plane.transpose(1, 2).flatten(2)), count

    def stream(self) -> Chain:
        """Give the stage that does the same while frames come."""
        dim = self.first.out_channels
        layers = zip((self.first, self.second), self.bands, strict=True)
        windows = [Windows(partial(in_time, layer), (dim, left), KERNEL, 2, self.padding) for layer, left in layers]
        return Chain([Pointwise(lambda x: x[:, :, None]), *windows, Pointwise(lambda x: self.project(x.flatten(2)))])


def in_time(layer: nn.Module, x: Float[Tensor, "b n e m"]) -> Float[Tensor, "b h d left"]:
    """Convolve, and apply ReLU, where time stands before the channels."""
    return relu(layer(x.transpose(1, 2))).transpose(1, 2)
