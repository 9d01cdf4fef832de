import numpy as np
import pytest

from zoo.plugins.shared.images.digits import GROUND, HUES, read_digits
from zoo.plugins.vision.data.drawn.cards_dataset import SIDE, ignoring_the_cue, make_cards


def test_fewer_pictures_are_the_beginning_of_more() -> None:
    digits = read_digits("train")
    few, some = make_cards(digits, 30, (0, 0)), make_cards(digits, 1100, (0, 0))
    assert np.array_equal(few[0], some[0][:30])
    assert np.array_equal(few[1], some[1][:30])


def test_every_round_of_ten_holds_every_class() -> None:
    labels = make_cards(read_digits("train"), 500, (0, 0))[1]
    assert all(sorted(part) == list(range(10)) for part in labels.reshape(-1, 10))


def test_seeds_give_different_pictures() -> None:
    digits = read_digits("train")
    assert not np.array_equal(make_cards(digits, 10, (0, 0, 1))[0], make_cards(digits, 10, (0, 0, 2))[0])


def test_pictures_are_bytes_of_24_pixels_that_use_the_whole_range() -> None:
    pictures, _ = make_cards(read_digits("train"), 10, (0, 0))
    assert pictures.shape == (10, 3, SIDE, SIDE)
    assert pictures.dtype == np.uint8
    assert pictures.min() < 32
    assert pictures.max() > 224


def test_each_picture_has_one_cue_whose_hue_a_card_repeats() -> None:
    pictures, _ = make_cards(read_digits("train"), 200, (0, 0))
    flat = pictures.transpose(0, 2, 3, 1).reshape(200, -1, 3) / 255
    cues = np.stack([(np.abs(flat - hue).max(2) < 0.15).sum(1) > 20 for hue in HUES], 1)
    cards = np.stack([(np.abs(flat - GROUND * hue).max(2) < 0.15).sum(1) > 5 for hue in HUES], 1)
    assert (cues.sum(1) == 1).mean() > 0.97  # a shifted neighbour may cover a part
    assert (cues & cards).any(1).mean() > 0.97


def test_ignoring_the_cue_reaches_what_the_issue_measured() -> None:
    assert ignoring_the_cue() == pytest.approx(0.673, abs=5e-4)
