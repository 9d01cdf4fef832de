import re
from typing import Any

import numpy as np
import pytest
import torch

from zoo import DataError
from zoo.data.cache import cache_folder
from zoo.data.python.pairs import Pairs, label_cell


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def cells(pairs: Pairs) -> Any:
    return pairs.table(x=lambda given, target, place: given, y=label_cell)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ((1, 2, 3), "train[1] is a tuple of 3 (int, int, int): a pair (input, target) is wanted"),
        ({"x": 1, "y": 2}, "train[1] is a dict with keys x, y: a pair"),
        (torch.zeros(2, 3), "train[1] is Tensor of shape (2, 3): a pair"),
        ("ab", "train[1] is str 'ab': a pair"),
    ],
)
def test_an_item_that_is_no_pair_is_named_with_what_it_is(item: Any, text: str) -> None:
    with pytest.raises(DataError, match=re.escape(text)):
        cells(Pairs("mine", {"train": [(1, 2), item]}))


def test_a_table_is_a_file_named_by_what_it_holds() -> None:
    first = cells(Pairs("mine", {"train": [(0, "a"), (1, "b")], "test": [(2, "a")]}))
    again = cells(Pairs("mine", {"train": [(0, "a"), (1, "b")], "test": [(2, "a")]}))
    assert first.fingerprint == again.fingerprint
    assert list(first.values("y")) == ["a", "b", "a"]
    assert len(list((cache_folder() / "tables").iterdir())) == 2
    assert cells(Pairs("mine", {"train": [(0, "a"), (1, "c")]})).fingerprint != first.fingerprint


def test_labels_are_names_or_whole_numbers() -> None:
    given = ["a", 3, True, np.int64(4), torch.tensor(5), 6.0, np.str_("b")]
    assert [label_cell(None, each, "") for each in given] == ["a", 3, 1, 4, 5, 6, "b"]
    for wrong in (0.5, None, [1], np.zeros(2)):
        with pytest.raises(DataError, match=r"train\[0\]: the label is .*; a name or a whole number is wanted"):
            label_cell(None, wrong, "train[0]")


def test_a_column_of_several_types_is_an_error() -> None:
    several = r"mine: the y of train\[0\] is int 2, and that of train\[{}\] str 'a'; give all of a column one type"
    for count in (1, 500):  # 500 are written at once
        with pytest.raises(DataError, match=several.format(count)):
            cells(Pairs("mine", {"train": [*[(0, 2)] * count, (1, "a")]}))
