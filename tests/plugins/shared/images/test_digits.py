import numpy as np

from zoo.plugins.shared.images.digits import read_digits


def test_the_digits_are_split_once_into_parts_without_a_common_digit() -> None:
    parts = [read_digits(split).pictures for split in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [1297, 250, 250]
    assert sum(len(part) for part in parts) == 1797


def test_another_seed_splits_otherwise() -> None:
    assert not np.array_equal(read_digits("test", 0).pictures, read_digits("test", 1).pictures)
