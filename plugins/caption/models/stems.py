"""Stems of captioning models, from pictures to a grid of vectors: a small CNN, or patches.

Axes: b pictures, c channels, h and w pixels, n places of the grid, d channels of a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from zoo.core import ConfigError, Linear, Tokens, position_encoding
from zoo.plugins.shared.images.patch_embed import PatchStem, Size, check_images, pair


class FeatureMap(nn.Module):
    """A CNN whose feature map is the L x D annotation vectors of arXiv:1502.03044 sec. 3.1.1.

    At each size of the map a convolution of 3x3, and one that makes a vector of 2x2; a batch norm and a ReLU behind
    each. A vector has seen few pixels around its place (10 with two halvings), so that attention to it is attention to
    that place.

    Args:
        image_size: pixels, one number or (height, width); other sizes are read too, with interpolated positions.
        patch_size: pixels along a side of a place: 2, 4, 8, ….
        in_chans: channels of the picture.
        dim: channels of a vector.
        position: added to the vectors: `learned`, `sinusoidal` or `none`.

    Raises:
        ConfigError: If the places do not fit.
    """

    def __init__(self, image_size: Size, patch_size: int, in_chans: int, dim: int, position: str = "learned") -> None:
        super().__init__()
        halvings = patch_size.bit_length() - 1
        height, width = pair(image_size)
        if patch_size < 2 or patch_size != 2**halvings:
            raise ConfigError(f"patch_size={patch_size} of a CNN that halves its map: give 2, 4, 8, …")
        if height % patch_size or width % patch_size or not height or not width:
            raise ConfigError(f"image_size={image_size} is not a multiple of patch_size={patch_size}")
        self.patch_size, self.in_chans = patch_size, in_chans
        widths = [in_chans, *(max(8, dim // 2 ** (halvings - level)) for level in range(halvings)), dim]
        self.layers = nn.Sequential()
        for level in range(halvings):
            width, after = widths[level + 1 : level + 3]
            around = nn.Conv2d(width if level else in_chans, width, 3, padding=1, bias=False)
            halving = nn.Conv2d(width, after, 2, stride=2, bias=False)
            self.layers.extend([around, nn.BatchNorm2d(width), nn.ReLU(), halving, nn.BatchNorm2d(after), nn.ReLU()])
        self.project = Linear(dim, dim)
        self.position = position_encoding(position, dim, (height // patch_size, width // patch_size))

    def forward(self, images: Tensor) -> Tokens:
        """Make vectors of images (b, c, h, w), row by row.

        Raises:
            InputError: If rank, channels, size or dtype do not fit.
        """
        check_images(images, self.in_chans, self.project.weight.dtype)
        found = self.layers(images)
        x = self.project(found.flatten(2).mT)
        if self.position is not None:
            x = x + self.position(tuple(found.shape[2:])).to(x.dtype)
        return Tokens(x)

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Give the rows and columns of the vectors of images."""
        height, width = (side // self.patch_size for side in images.shape[2:])
        return height, width


class PatchMap(PatchStem):
    """Patches of pictures without a class token, arXiv:2010.11929 sec. 3.1, for decoders that look at places.

    Args:
        image_size: see `PatchStem`.
        patch_size: pixels along each side of a patch.
        in_chans: channels of the picture.
        dim: channels of a vector.
        position: see `PatchStem`.
    """

    def __init__(self, image_size: Size, patch_size: int, in_chans: int, dim: int, position: str = "learned") -> None:
        super().__init__(image_size, patch_size, in_chans, dim, position, class_token=False)

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Give the rows and columns of the patches of images."""
        height, width = (side // self.patch_size for side in images.shape[2:])
        return height, width


STEMS: dict[str, Callable[..., nn.Module]] = {"cnn": FeatureMap, "patches": PatchMap}
"""What may stand before a decoder, by name."""


@dataclass(frozen=True, kw_only=True)
class PictureConfig:
    """What a captioning model reads.

    Args:
        image_size: pixels, one number or (height, width).
        patch_size: pixels along a side of a patch, or of a place of the feature map.
        in_chans: channels of the picture.
        stem: one of `STEMS`: `cnn` (a feature map), or `patches`.
    """

    image_size: Size = 20
    patch_size: int = 4
    in_chans: int = 3
    stem: str = "cnn"

    def make_stem(self, dim: int, position: str = "learned") -> nn.Module:
        """Make the stem.

        Args:
            dim: channels of a vector.
            position: added to the vectors: `learned`, `sinusoidal` or `none`.

        Raises:
            ConfigError: If there is none of that name, or the places do not fit.
        """
        if self.stem not in STEMS:
            raise ConfigError(f"stem={self.stem!r} is not one of {', '.join(STEMS)}")
        return STEMS[self.stem](self.image_size, self.patch_size, self.in_chans, dim, position)
