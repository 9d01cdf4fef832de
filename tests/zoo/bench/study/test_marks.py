from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from zoo.bench.study.marks import COLOURS, Mark, marks
from zoo.spec import Kind

PAGES = {"light": "#ffffff", "dark": "#14171b"}
VISION = {  # Machado, Oliveira and Fernandes 2009, table 1, severity 1
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array(  # of linear sRGB
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def linear(colour: str) -> NDArray[np.float64]:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = TO_XYZ @ rgb.clip(0, 1) / (TO_XYZ @ np.ones(3))
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(each)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def chosen(kinds: list[Kind]) -> dict[str, Mark]:
    return marks({f"model-{i}": kind for i, kind in enumerate(kinds)})


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("mode", PAGES)
def test_the_first_two_of_each_kind_are_told_apart_with_any_colour_vision(mode: str, vision: str) -> None:
    colours = [pair[mode == "dark"] for shades in COLOURS.values() for pair in shades[:2]]
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in colours]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 10


@pytest.mark.parametrize("kind", COLOURS)
def test_colours_stand_out_from_the_page(kind: Kind) -> None:
    """By 3 to 1 (WCAG 1.4.11); Okabe and Ito's lighter two have 2.1 to 1 on white, where the markers tell them."""
    least = (2.9, 2.0, 2.9)
    assert all(contrast(dark, PAGES["dark"]) > 3 for _, dark in COLOURS[kind])
    assert all(contrast(light, PAGES["light"]) > low for (light, _), low in zip(COLOURS[kind], least, strict=True))


def test_every_model_has_a_marker_of_its_own_and_the_colours_of_its_kind() -> None:
    found = chosen(["convolution", "attention", "hybrid"] * 3)
    assert len({mark.marker for mark in found.values()}) == len(found) == 9
    assert len({mark.path for mark in found.values()}) == 9
    assert (found["model-1"].light, found["model-1"].dark) == COLOURS["attention"][0]


def test_nine_models_of_a_kind_differ_in_colour_or_marker() -> None:
    found = chosen(["attention"] * 9)
    assert len({(mark.light, mark.marker) for mark in found.values()}) == 9


def test_a_marker_is_a_closed_path_with_its_top_up() -> None:
    assert Mark("", "", "s").path == "M-5.00,5.00L5.00,5.00L5.00,-5.00L-5.00,-5.00Z"
    assert Mark("", "", "^").path.startswith("M0.00,-5.00L-5.00,5.00")
    assert Mark("", "", "v").path.startswith("M0.00,5.00L5.00,-5.00")
