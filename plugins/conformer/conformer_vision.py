"""The Conformer on patches of a picture: its convolution goes over the grid in two dimensions.

Axes: b pictures, n patches, row by row, d channels.
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv2d, glu

from zoo.core import ConfigError, InputError, Linear, Model, Tokens, check_fit, configured, head, init_weights, silu
from zoo.plugins.conformer.block import conformer_encoder
from zoo.plugins.conformer.frame_norm import FrameBatchNorm
from zoo.plugins.shared.images.patch_embed import PatchConfig, PatchStem


@dataclass(frozen=True, kw_only=True)
class GridTokens(Tokens):
    """Tokens that stand on a grid, row by row.

    Args:
        grid: rows and columns.
    """

    grid: tuple[int, int]

    def with_x(self, x: Float[Tensor, "b n e"]) -> "GridTokens":
        """Give the same grid with other vectors."""
        return GridTokens(x, self.pattern, self.keys, self.position, grid=self.grid)


class GridStem(PatchStem):
    """Cut a picture into patches that know their grid; no class token, which would have no place on it."""

    def forward(self, images: Tensor) -> GridTokens:
        tokens = super().forward(images)
        height, width = images.shape[2:]
        return GridTokens(tokens.x, grid=(height // self.patch_size, width // self.patch_size))


class GridDepthwise(nn.Module):
    """Convolve each channel alone over the grid; around it, and where no vector is, stand zeros.

    It adds no bias, which the batch norm behind it would take away again.

    Args:
        dim: channels.
        kernel_size: patches that are read along each side, odd: the kernel has a middle.

    Raises:
        ConfigError: If the kernel has no middle.
    """

    def __init__(self, dim: int, kernel_size: int) -> None:
        super().__init__()
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ConfigError(f"kernel_size={kernel_size} is not odd: on a grid the kernel's middle stands on a patch")
        bound = 1 / kernel_size  # as nn.Conv2d draws
        self.weight = nn.Parameter(torch.empty(dim, 1, kernel_size, kernel_size).uniform_(-bound, bound))

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Convolve.

        Raises:
            InputError: If the tokens do not know their grid.
        """
        if not isinstance(tokens, GridTokens):
            raise InputError(f"{tokens.x.shape[1]} tokens without a grid given to a convolution over rows and columns")
        plane = tokens.without_padding().x.unflatten(1, tokens.grid).permute(0, 3, 1, 2)  # channels last in memory
        y = conv2d(plane, self.weight, padding=self.weight.shape[2] // 2, groups=self.weight.shape[0])
        return y.flatten(2).mT

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"{self.weight.shape[0]}, kernel_size={self.weight.shape[2]}"


class GridConvolution(nn.Module):
    """The paper's convolution module, sec. 2.2, with a kernel of rows and columns.

    Args:
        dim: channels.
        kernel_size: patches that the kernel reads along each side, odd.
        eps: of the layer norm.
    """

    def __init__(self, dim: int, kernel_size: int = 3, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.gated = Linear(dim, 2 * dim)
        self.depthwise = GridDepthwise(dim, kernel_size)
        self.inner_norm = FrameBatchNorm(dim)
        self.out = Linear(dim, dim)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Convolve each patch with its neighbours."""
        x = glu(self.gated(self.norm(tokens.x)))
        x = self.depthwise(tokens.with_x(x))
        return self.out(silu(self.inner_norm(x, tokens.keys)))


@dataclass(frozen=True, kw_only=True)
class VisionConformerConfig(PatchConfig):
    """Sizes and options of `VisionConformer`; `mlp_dim` are the channels inside each half step of feed-forward.

    Args:
        kernel_size: patches that each convolution reads along each side, odd.
        dropout: probability in [0, 1), of the vectors, after attention and convolution and in each half step.
    """

    kernel_size: int = 3
    dropout: float = 0.0


class VisionConformer(Model):
    """Patches, Conformer blocks, and a head on the mean: arXiv:2005.08100 sec. 2 for pictures.

    The paper convolves along time; here the depthwise convolution goes over rows and columns. Positions are added to
    the patches as arXiv:2010.11929 does; the paper's, inside attention, know a line only.

    Args:
        config: its fields are the keywords, see `VisionConformerConfig` and `PatchConfig`.

    Raises:
        ConfigError: If the image is not a multiple of the patch, the kernel has no middle, or the attention does not
            fit the grid.
    """

    @configured(VisionConformerConfig)
    def __init__(self, config: VisionConformerConfig) -> None:
        stem = config.stem(GridStem, dropout=config.dropout)
        convolution = partial(GridConvolution, kernel_size=config.kernel_size)
        encoder = config.encoder(conformer_encoder, convolution=convolution, dropout=config.dropout)
        super().__init__(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
        init_weights(self)
        check_fit(self, config.tokens())
