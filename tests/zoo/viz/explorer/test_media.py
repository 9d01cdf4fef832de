"""What is laid under attention: pictures, sounds, graphs."""

import io
import wave
from base64 import b64decode

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from zoo.viz.explorer.media import graph, grid_of, picture, places_of, sound


@pytest.mark.parametrize(
    ("size", "vectors", "grid"),
    [((224, 224), 197, (14, 14)), ((224, 224), 201, (14, 14)), ((96, 160), 61, (6, 10)), ((24, 24), 9, (3, 3))],
)
def test_patches_are_a_grid_of_the_shape_of_the_picture(
    size: tuple[int, int], vectors: int, grid: tuple[int, int]
) -> None:
    assert grid_of(*size, vectors) == grid


def pixels(url: str) -> np.ndarray:
    with Image.open(io.BytesIO(b64decode(url.partition(",")[2]))) as image:
        return np.array(image)


def test_a_picture_is_shown_as_it_was_before_normalisation() -> None:
    raw = torch.randint(0, 256, (3, 8, 12)).float()
    told = {"mean": [0.5, 0.4, 0.3], "std": [0.5, 0.2, 0.1]}
    mean, std = (torch.tensor(told[name])[:, None, None] for name in ("mean", "std"))
    found = picture((raw / 255 - mean) / std, 7, told)
    assert np.abs(pixels(found["url"]).astype(int) - raw.permute(1, 2, 0).numpy()).max() <= 1
    assert (found["size"], found["grid"], found["prefix"]) == ([12, 8], [2, 3], 1)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_a_picture_of_any_channels_is_shown(channels: int) -> None:
    assert pixels(picture(torch.randn(channels, 8, 8), 4, {})["url"]).shape == (8, 8, 3)


def test_places_are_those_of_patches_and_what_stands_in_front_has_none() -> None:
    places = places_of(picture(torch.randn(3, 8, 8), 5, {}), 5)
    assert isinstance(places, Tensor)
    assert bool(places[0].isnan().all())
    assert places[1:].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert places_of(None, 5) is None


def test_a_sound_is_played_and_its_tone_stands_at_its_frequency() -> None:
    tone = torch.sin(2 * torch.pi * 2000 * torch.arange(8000) / 16000)
    found = sound(tone, 16000, 0.04)
    with wave.open(io.BytesIO(b64decode(found["wave"].partition(",")[2]))) as read:
        assert (read.getframerate(), read.getnframes()) == (16000, 8000)
        played = np.frombuffer(read.readframes(8000), "<i2")
    np.testing.assert_allclose(played / 32767, tone.numpy(), atol=1e-3)
    dark = pixels(found["url"])[..., 0].mean(1).argmin()
    assert dark == pytest.approx(80 - 80 * 2000 / 8000, abs=2)
    assert (found["seconds"], found["step"]) == (0.5, 0.04)


def test_a_graph_has_each_edge_once_and_its_nodes_inside_the_drawing() -> None:
    found = graph(torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]]), 4, 3)
    assert found["edges"] == [[0, 1], [1, 2]]
    assert all(0 <= value <= 1 for place in found["places"] for value in place)
    assert (len(found["places"]), found["given"]) == (4, 3)
