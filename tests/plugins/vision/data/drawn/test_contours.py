"""Pictures of contours: drawn alike again, the first of more, turned without a change of what they show."""

import pytest
import torch

import zoo
from zoo.data.sequences import Pathfinder
from zoo.plugins.vision.data.drawn.contours import open_contours

SOURCE = open_contours("16")


def test_pictures_are_those_of_the_task_in_the_whole_range_of_bytes() -> None:
    examples = SOURCE.train(30, 0)
    assert examples.inputs.shape == (30, 1, 16, 16)
    assert sorted(set(examples.inputs.unique().tolist())) == [0, 63, 126, 189, 252]
    assert set(examples.labels.tolist()) == {0, 1}
    assert SOURCE.classes == Pathfinder(size=16).classes
    large = open_contours()
    prepared = large.prepare(large.train(60, 0).inputs)
    assert float(prepared.mean()) == pytest.approx(0, abs=0.2)
    assert float(prepared.std()) == pytest.approx(1, abs=0.2)


def test_fewer_pictures_are_the_first_of_more_and_each_seed_has_its_own() -> None:
    more, fewer, other = SOURCE.train(15, 0), SOURCE.train(10, 0), SOURCE.train(10, 1)
    assert fewer.inputs.equal(more.inputs[:10])
    assert not fewer.inputs.equal(other.inputs)
    again = open_contours("16")
    assert again.train(10, 0).inputs.equal(fewer.inputs)
    assert not fewer.inputs.equal(open_contours("16", seed=1).train(10, 0).inputs)


def test_augmentation_moves_pixels_and_makes_none() -> None:
    inputs = SOURCE.train(40, 0).inputs
    inputs[:, :, :2], inputs[:, :, -2:], inputs[..., :2], inputs[..., -2:] = 0, 0, 0, 0  # a shift loses nothing
    changed = SOURCE.augment(inputs, torch.Generator().manual_seed(0))
    assert not changed.equal(inputs)
    for before, after in zip(inputs, changed, strict=True):
        assert before.flatten().sort().values.equal(after.flatten().sort().values)


@pytest.mark.parametrize("size", ["many", "-3", "1.5"])
def test_a_size_that_is_no_number_is_refused(size: str) -> None:
    with pytest.raises(zoo.ConfigError, match=r"contours:.*: SIZE is a whole number of pixels from 16 on"):
        open_contours(size)
    with pytest.raises(zoo.ConfigError, match="size=15: two contours need 16 pixels"):
        open_contours("15")
