"""Patches: against the convolution that they are, and their positions on grids of any size."""

import pytest
import torch
from torch.nn.functional import conv2d

from zoo import ConfigError
from zoo.plugins.shared.images.patch_embed import PatchStem, pair

pytestmark = pytest.mark.usefixtures("float64")


@pytest.mark.parametrize("size", [(16, 16), (8, 24)])
def test_the_patch_product_is_the_patch_convolution(size: tuple[int, int]) -> None:
    stem = PatchStem(16, 4, 3, 8, position="none", class_token=False)
    x = torch.randn(2, 3, *size)
    kernel = stem.project.weight.unflatten(1, (3, 4, 4))
    torch.testing.assert_close(stem(x).x, conv2d(x, kernel, stem.project.bias, stride=4).flatten(2).mT)


@pytest.mark.parametrize("class_token", [True, False])
def test_positions_are_added_row_by_row_behind_the_class_token(class_token: bool) -> None:
    stem = PatchStem((8, 12), 4, 1, 8, class_token=class_token)
    torch.nn.init.zeros_(stem.project.weight)
    torch.nn.init.zeros_(stem.project.bias)
    y, table = stem(torch.randn(1, 1, 8, 12)).x[0], stem.get_parameter("position.table")
    assert len(y) == 6 + class_token
    torch.testing.assert_close(y[class_token:], table[class_token:])
    wide = stem(torch.randn(1, 1, 8, 24)).x[0]
    assert len(wide) == 12 + class_token


def test_a_size_is_a_number_or_two() -> None:
    assert (pair(24), pair([8, 16])) == ((24, 24), (8, 16))
    with pytest.raises(ConfigError, match=r"image_size=\(8, 8, 3\) is neither a number of pixels nor"):
        pair((8, 8, 3))
