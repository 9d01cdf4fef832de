import itertools
from typing import Any

import numpy as np
import pytest

from zoo.data.labelling.class_ratio import ClassRatio
from zoo.errors import ConfigError


def test_class_sizes_have_the_ratio() -> None:
    assert ClassRatio.parse("8,4,2,1").counts(4, 150).tolist() == [80, 40, 20, 10]
    assert ClassRatio.parse([3.0, 1.0]).counts(2, 12).tolist() == [9, 3]


def test_one_number_is_the_first_class_over_the_last_with_an_exponential_fall() -> None:
    counts = ClassRatio.parse(100.0).counts(3, 1110)
    assert counts.tolist() == [1000, 100, 10]
    assert ClassRatio.parse("1").counts(5, 20).tolist() == [4] * 5


@pytest.mark.parametrize("text", ["8,4,2,1", "100", "1,1.7,1,29"])
def test_no_class_loses_examples_where_there_are_more(text: str) -> None:
    """Rounded shares do not have this: the Alabama paradox."""
    ratio = ClassRatio.parse(text)
    counts = [ratio.counts(4, size) for size in range(1, 200)]
    assert all((after >= before).all() for before, after in itertools.pairwise(counts))
    assert [int(each.sum()) for each in counts] == list(range(1, 200))


@pytest.mark.parametrize("text", ["8,4,2,1", "100", "1"])
def test_the_least_size_is_the_first_with_every_class(text: str) -> None:
    ratio = ClassRatio.parse(text)
    least = ratio.least(4)
    assert ratio.counts(4, least).all()
    assert not ratio.counts(4, least - 1).all()


@pytest.mark.parametrize("available", [[80, 40, 20, 10], [7, 90, 90, 90], [90, 90, 90, 2]])
def test_the_most_is_the_last_size_that_the_data_have(available: list[int]) -> None:
    ratio, have = ClassRatio.parse("8,4,2,1"), np.array(available)
    most = ratio.most(have)
    assert (ratio.counts(4, most) <= have).all()
    assert (ratio.counts(4, most + 1) > have).any()


@pytest.mark.parametrize(
    ("given", "said"),
    [("8,0", "0 is not above 0"), ("-1,2", "-1 is not above 0"), ("nan,1", "nan is not above 0"), ("8,", "8,4,2,1"),
     ("much", "one number R"), (0.5, "1 or more")],
)  # fmt: skip
def test_a_ratio_that_says_nothing_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=f"class_ratio='{given}': .*{said}"):
        ClassRatio.parse(given)


@pytest.mark.parametrize("text", ["8,4", "8,4,2,1"])
def test_a_ratio_of_another_number_of_classes_is_refused_with_their_names(text: str) -> None:
    with pytest.raises(ConfigError, match=rf"{text}' has \d numbers, and 'pets' has 3 classes, cat, dog, owl: give"):
        ClassRatio.parse(text).check(["cat", "dog", "owl"], "pets")


def test_it_is_written_as_it_is_read() -> None:
    assert str(ClassRatio.parse(" 8, 4.50,1")) == "8,4.5,1"
