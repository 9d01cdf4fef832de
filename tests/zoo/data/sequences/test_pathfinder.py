import itertools
import random

import numpy as np
import pytest
import torch
from scipy import ndimage
from sklearn.linear_model import LogisticRegression

from zoo.core import IGNORED
from zoo.data.sequences.pathfinder import LEVELS, Pathfinder, Scene, dashes
from zoo.errors import ConfigError

FINE = 8
"""Cells of a pixel, on which a flood fill follows contours."""


def reached(scene: Scene, size: int) -> bool:
    """Fill along the contours, whose dashes are joined, from one dot, and tell whether that meets the other."""
    canvas = np.zeros((size * FINE, size * FINE), dtype=bool)
    for contour in scene.contours:
        for begin, end in itertools.pairwise(contour):
            line = np.array(begin) + np.linspace(0, 1, 8 * FINE)[:, None] * (np.array(end) - np.array(begin))
            canvas[tuple((line * FINE).astype(int).T)] = True
    regions, count = ndimage.label(canvas, np.ones((3, 3)))
    assert count == len(scene.contours)
    one, other = (regions[tuple((dot * FINE).astype(int))] for dot in scene.dots)
    assert one
    assert other
    return bool(one == other)


@pytest.mark.parametrize("size", [16, 32])
def test_the_dots_are_on_one_contour_where_the_label_says_so_and_contours_never_touch(size: int) -> None:
    rng = random.Random(0)
    scenes = [Pathfinder(size=size).scene(rng) for _ in range(10)]
    assert [reached(scene, size) for scene in scenes] == [scene.joined for scene in scenes]
    assert {scene.joined for scene in scenes} == {True, False}


def test_the_arena_has_long_contours_of_fourteen_dashes_and_short_ones_of_four() -> None:
    scene = Pathfinder().scene(random.Random(1))
    lengths = [len(dashes(contour)) for contour in scene.contours]
    assert lengths[:2] == [14, 14]
    assert set(lengths[2:]) == {4}
    assert len(lengths) <= 7


def test_the_question_comes_last_and_asks_whether_the_dots_are_joined() -> None:
    task = Pathfinder(size=16)
    drawn, again = (task.draw(6, torch.Generator().manual_seed(3)) for _ in range(2))
    pictures, joined = task.pictures(6, torch.Generator().manual_seed(3))
    assert torch.equal(drawn.ids, again.ids)
    assert torch.equal(drawn.ids[:, :-1], pictures.flatten(1)[:, :-1])
    assert task.words[LEVELS] == "?"
    assert (drawn.ids == LEVELS).nonzero()[:, 1].tolist() == [255] * 6
    assert torch.equal(drawn.targets[:, -1], joined)
    assert (drawn.targets[:, :-1] == IGNORED).all()


@pytest.mark.slow
def test_labels_are_balanced_and_counts_of_grey_levels_do_not_tell_them() -> None:
    pictures, joined = Pathfinder().pictures(1200, torch.Generator().manual_seed(0))
    assert abs(joined.float().mean() - 0.5) < 0.05
    counts = torch.nn.functional.one_hot(pictures.flatten(1), LEVELS).sum(1)[:, 1:].numpy() / 10
    for seen in (counts, counts.sum(1, keepdims=True)):
        fitted = LogisticRegression(max_iter=1000).fit(seen[:600], joined[:600])
        assert fitted.score(seen[600:], joined[600:]) < 0.57


def test_a_picture_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="size=15"):
        Pathfinder(size=15)
