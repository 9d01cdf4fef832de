"""The Conformer on patches of a picture: its convolution goes over the grid in two dimensions.

Axes: b pictures, n patches, row by row, d channels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv2d, glu

from zoo.core import (
    Attention,
    ConfigError,
    InputError,
    Linear,
    Model,
    Tokens,
    head,
    init_weights,
    refuse_unfit,
    silu,
    with_position,
)
from zoo.plugins.conformer.block import conformer_encoder
from zoo.plugins.conformer.frame_norm import FrameBatchNorm
from zoo.plugins.shared.images.patch_embed import PatchStem, Size, pair


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
        """See `PatchStem.forward`."""
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
        """Show what the parameters do not."""
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
        """Give each patch what it reads of its neighbours."""
        x = glu(self.gated(self.norm(tokens.x)))
        x = self.depthwise(tokens.with_x(x))
        return self.out(silu(self.inner_norm(x, tokens.keys)))


class VisionConformer(Model):
    """Patches, Conformer blocks, and a head on the mean: arXiv:2005.08100 sec. 2 for pictures.

    The paper convolves along time; here the depthwise convolution goes over rows and columns. Positions are added to
    the patches as arXiv:2010.11929 does; the paper's, inside attention, know a line only.

    Args:
        image_size: pixels, one number or (height, width); other sizes are read too.
        patch_size: pixels along each side of a patch.
        in_chans: channels of the image.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each half step of feed-forward.
        kernel_size: patches that each convolution reads along each side, odd.
        num_classes: labels; 0 for features.
        task: `classify`, `tag` (a label for each patch) or `features`.
        position: as for the vision transformer: on the grid `learned`, `sinusoidal` or `none`; or inside attention,
            along the line of patches, `rotary`, `alibi`, `relative`, `transformer-xl`, `shaw`.
        attention: makes an attention from (dim, num_heads).
        dropout: probability in [0, 1), of the vectors, after attention and convolution and in each half step.
        drop_path: probability in [0, 1) that the last block is skipped in training.

    Raises:
        ConfigError: If the image is not a multiple of the patch, the kernel has no middle, or the attention does not
            fit the grid.
    """

    def __init__(
        self,
        *,
        image_size: Size = 24,
        patch_size: int = 4,
        in_chans: int = 3,
        dim: int = 64,
        depth: int = 3,
        num_heads: int = 4,
        mlp_dim: int = 128,
        kernel_size: int = 3,
        num_classes: int = 10,
        task: str = "classify",
        position: str = "learned",
        attention: Callable[[int, int], nn.Module] = Attention,
        dropout: float = 0.0,
        drop_path: float = 0.0,
    ) -> None:
        stem = GridStem(image_size, patch_size, in_chans, dim, position, class_token=False, dropout=dropout)
        height, width = pair(image_size)
        patches = (height // patch_size) * (width // patch_size)
        encoder = conformer_encoder(
            dim,
            depth,
            num_heads,
            mlp_dim,
            attention=with_position(attention, position, patches),
            convolution=partial(GridConvolution, kernel_size=kernel_size),
            dropout=dropout,
            drop_path=drop_path,
        )
        super().__init__(stem, encoder, head(task, dim, num_classes, pool="mean"))
        init_weights(self)
        refuse_unfit(self, patches)
