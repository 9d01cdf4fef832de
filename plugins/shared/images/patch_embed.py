"""Patch embedding: from images to tokens, one matrix product for each patch, with checks of the images.

Axes: b images, c channels, h and w pixels, n tokens, d channels of a token.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from zoo.core import (
    Attention,
    ConfigError,
    Encoder,
    InputError,
    Linear,
    Tokens,
    check_tensor,
    position_encoding,
    with_position,
)

Size = Any
"""One number of pixels, or (height, width)."""


def pair(size: Size) -> tuple[int, int]:
    """Give (height, width) of one number or two.

    Raises:
        ConfigError: If it is neither.
    """
    sides = (size, size) if isinstance(size, int) else tuple(size)
    if len(sides) != 2 or not all(isinstance(side, int) for side in sides):
        raise ConfigError(f"image_size={size!r} is neither a number of pixels nor (height, width)")
    return sides[0], sides[1]


class PatchStem(nn.Module):
    """Cut an image into patches and make each a token by one matrix product, arXiv:2010.11929 sec. 3.1.

    Args:
        image_size: pixels, one number or (height, width); other sizes are read too, with interpolated positions.
        patch_size: pixels along each side of a patch.
        in_chans: channels of the image.
        dim: channels of a token.
        position: `learned`, `sinusoidal` or `none`; names that act inside attention add nothing here.
        class_token: whether a learned token stands in front.
        dropout: probability in [0, 1).

    Raises:
        ConfigError: If the image is not a multiple of the patch.
    """

    def __init__(
        self,
        image_size: Size,
        patch_size: int,
        in_chans: int,
        dim: int,
        position: str = "learned",
        class_token: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.in_chans = in_chans
        height, width = pair(image_size)
        if patch_size < 1 or height % patch_size or width % patch_size or not height or not width:
            raise ConfigError(f"image_size={image_size} is not a multiple of patch_size={patch_size}")
        self.project = Linear(in_chans * patch_size**2, dim)
        self.class_token = nn.Parameter(torch.randn(1, 1, dim) * 1e-6) if class_token else None
        grid = (height // patch_size, width // patch_size)
        self.position = position_encoding(position, dim, grid, prefix=int(class_token))
        self.dropout = nn.Dropout(dropout)

    def forward(self, images: Tensor) -> Tokens:
        """Make tokens of images (b, c, h, w), row by row, behind the class token if there is one.

        Raises:
            InputError: If rank, channels, size or dtype do not fit.
        """
        check_images(images, self.in_chans, self.project.weight.dtype)
        height, width = images.shape[2:]
        p = self.patch_size
        if height % p or width % p:
            raise InputError(f"images of {height}x{width} pixels are not a multiple of patch_size={p}")
        x = self.project(rearrange(images, "b c (h p) (w q) -> b (h w) (c p q)", p=p, q=p))
        if self.class_token is not None:
            x = torch.cat([self.class_token.to(x.dtype).expand(x.shape[0], -1, -1), x], dim=1)
        if self.position is not None:
            x = x + self.position((height // p, width // p)).to(x.dtype)
        return Tokens(self.dropout(x))


def check_images(images: Tensor, in_chans: int, dtype: torch.dtype) -> None:
    """Refuse what is no batch of images for a model.

    Raises:
        InputError: If rank, dtype, channels or batch do not fit.
    """
    check_tensor(images, "images")
    shape = tuple(images.shape)
    wanted = f"(batch, {in_chans}, height, width)"
    if images.dtype == torch.uint8:
        raise InputError("images are torch.uint8 in 0 … 255: preprocess first, zoo.preprocess(name)(image)")
    if images.ndim != 4:
        hint = "; one image needs a batch axis: image[None]" if images.ndim == 3 else ""
        raise InputError(f"images of shape {shape} are not {wanted}{hint}")
    if images.shape[1] != in_chans:
        hint = "; channels come last: images.permute(0, 3, 1, 2)" if images.shape[3] == in_chans else ""
        raise InputError(f"images of shape {shape} have {images.shape[1]} channels, the model reads {wanted}{hint}")
    if images.shape[0] == 0:
        raise InputError(f"a batch of 0 images, shape {shape}")
    device = images.device.type
    if images.dtype != dtype and not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)):
        raise InputError(f"images are {images.dtype}, the model is {dtype}: images.to({dtype}), or torch.autocast")


@dataclass(frozen=True, kw_only=True)
class PatchConfig:
    """Sizes and options of a model of pictures that are cut into patches.

    Args:
        image_size: pixels, one number or (height, width); other sizes are read too.
        patch_size: pixels along each side of a patch.
        in_chans: channels of the image.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels; 0 for features.
        task: `classify`, `tag` (a label for each patch) or `features`.
        position: `learned` or `sinusoidal` (on the grid, added to the vectors), `none`; or inside attention, where a
            token's position is its place in the row-major line behind the class token (arXiv:2010.11929 app. D.4):
            `rotary`, `alibi`, `relative` (a table), `transformer-xl`, `shaw`.
        attention: makes an attention from (dim, num_heads).
        drop_path: probability in [0, 1) that the last block is skipped in training.
    """

    image_size: Size = 24
    patch_size: int = 4
    in_chans: int = 3
    dim: int = 64
    depth: int = 3
    num_heads: int = 4
    mlp_dim: int = 128
    num_classes: int = 10
    task: str = "classify"
    position: str = "learned"
    attention: Callable[[int, int], nn.Module] = Attention
    drop_path: float = 0.0

    def stem(self, make: type[PatchStem] = PatchStem, class_token: bool = False, dropout: float = 0.0) -> PatchStem:
        """Make the stem, of a class; other arguments as for `PatchStem`."""
        sizes = self.image_size, self.patch_size, self.in_chans, self.dim
        return make(*sizes, self.position, class_token=class_token, dropout=dropout)

    def tokens(self, prefix: int = 0) -> int:
        """Give how many tokens a picture of the size has, with those in front."""
        height, width = pair(self.image_size)
        return prefix + (height // self.patch_size) * (width // self.patch_size)

    def encoder(self, make: Callable[..., nn.Module] = Encoder, prefix: int = 0, **options: Any) -> nn.Module:
        """Make the encoder, whose attention has its position.

        Args:
            make: from dim, depth, num_heads, mlp_dim, `attention`, `drop_path` and the options.
            prefix: tokens in front of the patches.
            options: its other keywords.
        """
        attention = with_position(self.attention, self.position, self.tokens(prefix))
        sizes = self.dim, self.depth, self.num_heads, self.mlp_dim
        return make(*sizes, attention=attention, drop_path=self.drop_path, **options)
