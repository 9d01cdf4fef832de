from typing import Any

import pytest
import torch

from zoo.core import ConfigError, InputError
from zoo.plugins.caption.models.stems import STEMS, FeatureMap, PictureConfig


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.parametrize("size", [(8, 16), (24, 8)])
def test_vectors_are_the_places_of_the_grid_row_by_row(name: str, size: tuple[int, int]) -> None:
    stem: Any = PictureConfig(image_size=(8, 16), stem=name).make_stem(12)
    images = torch.randn(2, 3, *size)
    rows, columns = stem.grid(images)
    assert (rows, columns) == (size[0] // 4, size[1] // 4)
    assert stem(images).x.shape == (2, rows * columns, 12)


def test_a_place_of_the_feature_map_has_seen_few_pixels_around_it() -> None:
    stem = FeatureMap(32, 4, 1, 8).eval()
    images = torch.randn(1, 1, 32, 32, requires_grad=True)
    stem(images).x[0, 3 * 8 + 5].sum().backward()
    rows, columns = (images.grad[0, 0].abs().sum(1 - axis).nonzero() for axis in (0, 1))
    assert (int(rows.min()), int(rows.max())) == (9, 18)  # 10 pixels around the four of the fourth row
    assert (int(columns.min()), int(columns.max())) == (17, 26)


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        (("cnn", 24, 6), "patch_size=6 of a CNN"),
        (("cnn", 24, 1), "patch_size=1 of a CNN"),
        (("cnn", 20, 8), "image_size=20 is not a multiple of patch_size=8"),
        (("patches", 20, 8), "image_size=20 is not a multiple of patch_size=8"),
        (("vit", 20, 4), "stem='vit' is not one of cnn, patches"),
    ],
)
def test_what_does_not_fit_is_named(sizes: tuple[str, int, int], error: str) -> None:
    stem, image_size, patch_size = sizes
    with pytest.raises(ConfigError, match=error):
        PictureConfig(stem=stem, image_size=image_size, patch_size=patch_size).make_stem(8)


def test_pictures_of_other_channels_are_refused() -> None:
    with pytest.raises(InputError, match="have 1 channels"):
        FeatureMap(8, 4, 3, 8)(torch.randn(1, 1, 8, 8))
