import pytest
import torch

from zoo.plugins.caption.data.pointing import mean_map, on_thing, shares
from zoo.plugins.caption.data.scenes import Box

TOP_LEFT, RIGHT = Box(0.0, 0.0, 0.5, 0.5), Box(0.0, 0.5, 1.0, 1.0)


def test_places_whose_centre_lies_on_the_thing_are_its_own() -> None:
    found = on_thing([TOP_LEFT, None, RIGHT], (2, 4), 4)
    assert found.int().tolist() == [
        [1, 1, 0, 0, 0, 0, 0, 0],
        [0] * 8,
        [0, 0, 1, 1, 0, 0, 1, 1],
        [0] * 8,
    ]


def test_uniform_attention_points_with_the_share_of_the_area_and_a_perfect_one_with_1() -> None:
    boxes, grid = [[TOP_LEFT, RIGHT, None]], (4, 4)
    uniform = torch.full((1, 2, 3, 16), 1 / 16)
    assert shares([uniform], boxes, grid).tolist() == pytest.approx([0.25, 0.5])
    perfect = torch.zeros(1, 1, 3, 16)
    perfect[0, 0, 0, 5] = perfect[0, 0, 1, 15] = perfect[0, 0, 2, 3] = 1
    assert shares([perfect], boxes, grid).tolist() == [1, 1]


def test_words_that_name_nothing_count_nowhere() -> None:
    weights = torch.eye(16)[None, None, :3]
    assert shares([weights], [[None, None, None]], (4, 4)).numel() == 0


def test_layers_and_heads_are_averaged_and_tokens_before_the_grid_left_out() -> None:
    one, other = torch.zeros(1, 2, 1, 5), torch.zeros(1, 2, 1, 5)
    one[..., 1], other[..., 0] = 1, 1
    assert mean_map([one, other], (2, 2)).tolist() == [[[0.5, 0, 0, 0]]]
