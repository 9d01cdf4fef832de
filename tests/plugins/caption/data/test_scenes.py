import itertools

import numpy as np
import pytest

from zoo.plugins.caption.data.scenes import (
    CARD,
    COLOURS,
    NUMBERS,
    PAIRS,
    SEEN,
    SIDE,
    UNSEEN,
    Scene,
    Thing,
    describe,
    draw_scene,
)
from zoo.plugins.shared.images.digits import GROUND, HUES, read_digits


def drawn(count: int, unseen: bool = False) -> list[Scene]:
    digits, rng = read_digits("train"), np.random.default_rng(0)
    return [draw_scene(digits, rng, unseen) for _ in range(count)]


def pairs_of(text: str) -> set[tuple[int, int]]:
    words = text.split()
    return {(COLOURS.index(word), NUMBERS.index(after)) for word, after in itertools.pairwise(words) if word in COLOURS}


def test_each_colour_and_each_number_of_an_unseen_pair_is_seen_with_others() -> None:
    assert len(set(UNSEEN)) == 8
    assert set(SEEN) | set(UNSEEN) == set(PAIRS)
    assert {hue for hue, _ in SEEN} == set(range(4))
    assert {digit for _, digit in SEEN} == set(range(10))


def test_scenes_of_the_training_name_no_unseen_pair_and_the_others_at_least_one() -> None:
    assert not any(pairs_of(scene.text) & set(UNSEEN) for scene in drawn(200))
    assert all(pairs_of(scene.text) & set(UNSEEN) for scene in drawn(200, unseen=True))


def test_things_are_named_in_the_order_of_reading_with_what_lies_between_them() -> None:
    things = [Thing((0, 3), 0, 2), Thing((2, 7), 1, 0), Thing((1, 1), 1, 2)]
    text, boxes = describe(things, [(n, n, n, n) for n in range(3)])  # type: ignore[misc]
    assert text == "a red three above a blue seven left of a green one"
    named = [word for word, box in zip(text.split(), boxes, strict=True) if box is not None]
    assert named == ["red", "three", "blue", "seven", "green", "one"]


@pytest.mark.parametrize("scene", drawn(20))
def test_the_place_of_a_word_holds_a_card_of_its_colour(scene: Scene) -> None:
    for word, box in zip(scene.text.split(), scene.boxes, strict=True):
        if word in COLOURS:
            assert box is not None
            top, left, bottom, right = (round(side * SIDE) for side in box)
            assert bottom - top == right - left == CARD
            card = scene.pixels[:, top:bottom, left:right].astype(float) / 255
            ground = HUES[COLOURS.index(word)][:, None, None]
            assert (card - GROUND * ground).min() > -0.15  # no darker than the ground
            assert np.median(np.abs(card[ground[:, 0, 0] == 1] - GROUND)) < 0.25


def test_scenes_are_the_same_for_a_seed_and_their_digits_are_of_the_part() -> None:
    assert all(np.array_equal(one.pixels, other.pixels) for one, other in zip(drawn(3), drawn(3), strict=True))
    other = draw_scene(read_digits("test"), np.random.default_rng(0))
    assert not np.array_equal(other.pixels, drawn(1)[0].pixels)
