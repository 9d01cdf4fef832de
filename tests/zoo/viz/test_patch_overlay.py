"""Attention over a picture."""

import numpy as np
import pytest
import torch
from matplotlib.colors import PowerNorm

from zoo.errors import InputError
from zoo.viz.attention_maps import Map, Side
from zoo.viz.patch_overlay import FAINT, STRONG, draw, laid_over, read_of_patches


def test_patches_are_what_the_token_in_front_reads_or_the_mean() -> None:
    weights = torch.eye(5)[[3, 0, 1, 2, 4]]
    assert read_of_patches(weights, (2, 2)).tolist() == [[0, 0], [1, 0]]
    assert read_of_patches(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), (1, 2)).tolist() == [[0.75, 0.25]]
    with pytest.raises(InputError, match="5 vectors for 2x3 patches"):
        read_of_patches(weights, (2, 3))


def test_weights_hide_the_picture_where_they_are() -> None:
    image = np.full((4, 6, 3), 255, np.uint8)
    found = laid_over(image, np.array([[0.0, 1.0]], np.float32), PowerNorm(0.5, 0, 1))
    yellow, dark = np.array([0.993, 0.906, 0.144]), np.array([0.267, 0.005, 0.329])
    np.testing.assert_allclose(found[0, 0], FAINT * dark + 1 - FAINT, atol=0.01)
    np.testing.assert_allclose(found[3, 5], STRONG * yellow + 1 - STRONG, atol=0.01)
    assert (found[:, :3] == found[0, 0]).all()


def test_each_head_has_a_panel() -> None:
    weights = torch.full((2, 4, 4), 0.25)
    maps = [Map("encoder", layer, (1, 3), weights, Side(), Side()) for layer in (1, 2)]
    figure = draw(maps, torch.zeros(8, 8, 3, dtype=torch.uint8), (2, 2), "cat")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["layer 1, head 1", "layer 1, head 3", "layer 2, head 1", "layer 2, head 3"]
