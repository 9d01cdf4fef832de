"""Colours against matplotlib's, and PNG files against Pillow."""

import io

import matplotlib
import numpy as np
from PIL import Image

from zoo.viz.explorer.colours import coloured, png, viridis


def test_the_colours_are_those_of_matplotlib() -> None:
    theirs = np.array(matplotlib.colormaps["viridis"].colors) * 255  # type: ignore[attr-defined]
    assert np.abs(viridis() - theirs).max() <= 2.5


def test_values_outside_have_the_colours_of_the_ends() -> None:
    found = coloured(np.array([[-1.0, 0.0], [1.0, 2.0]]))
    assert (found[0] == viridis()[0]).all()
    assert (found[1] == viridis()[255]).all()


def test_pixels_are_read_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    with Image.open(io.BytesIO(png(pixels))) as image:
        assert (np.array(image) == pixels).all()
