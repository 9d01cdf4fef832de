import pytest
import torch

from zoo.errors import DataError
from zoo.plugins.vision.data.drawn.cards import open_cards
from zoo.plugins.vision.data.pictures import open_digits
from zoo.plugins.vision.image_source import ImageSource as Source


@pytest.mark.parametrize("source", [open_cards(), open_digits()], ids=["cards", "digits"])
def test_subsets_are_nested_and_balanced(source: Source) -> None:
    few, more = source.train(40, 0), source.train(80, 0)
    assert torch.equal(more.inputs[:40], few.inputs)
    assert torch.bincount(few.labels).tolist() == [4] * 10


def test_no_digit_is_in_two_parts() -> None:
    source = open_digits()
    assert source.limit
    parts = [source.train(source.limit, 0), source.validation(), source.test()]
    assert sum(len(part.labels) for part in parts) == 1797
    pictures = torch.cat([part.inputs.flatten(1) for part in parts])
    assert len(pictures.unique(dim=0)) == 1797


def test_the_split_is_the_same_each_time() -> None:
    assert torch.equal(open_digits().test().inputs, open_digits().test().inputs)


def test_a_seed_draws_another_subset() -> None:
    source = open_digits()
    assert not torch.equal(source.train(50, 0).inputs, source.train(50, 1).inputs)


def test_prepared_pictures_have_the_size_asked_for() -> None:
    source = open_digits().resized(16)
    small, large = (each.prepare(each.test().inputs[:2]) for each in (open_digits(), source))
    assert large.shape == (2, 1, 16, 16)
    torch.testing.assert_close(large.mean((1, 2, 3)), small.mean((1, 2, 3)), rtol=0.1, atol=0.1)


def test_augmenting_shifts_by_at_most_a_pixel() -> None:
    source = open_digits()
    picture = torch.zeros(50, 1, 9, 9)
    picture[:, :, 4, 4] = 1
    moved = source.augment(picture, torch.Generator().manual_seed(0))
    assert moved.sum((1, 2, 3)).tolist() == [1] * 50
    assert moved[:, 0, 3:6, 3:6].sum() == 50
    assert len(moved.unique(dim=0)) == 9


def test_more_examples_than_there_are() -> None:
    with pytest.raises(DataError, match=r"1,400 training examples asked for, 'digits' has 1,265 besides validation"):
        open_digits().train(1400, 0)


def test_augmenting_is_the_same_before_and_after_normalising() -> None:
    source = open_digits()
    inputs = source.test().inputs[:20]
    bytes_first = source.prepare(source.augment(inputs, torch.Generator().manual_seed(3)))
    floats_first = source.augment(source.prepare(inputs), torch.Generator().manual_seed(3))
    assert torch.equal(bytes_first, floats_first)
    assert bytes_first.stride() == floats_first.stride()
