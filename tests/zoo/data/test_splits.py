import pytest

from zoo.data.splits import complete, fingerprint
from zoo.errors import DataError


def test_a_tenth_each_is_held_out_and_the_same_for_a_seed() -> None:
    train, validation, test = complete({"train": range(100)}, int, 0, "x")
    assert (len(train), len(validation), len(test)) == (80, 10, 10)
    assert sorted([*train, *validation, *test]) == list(range(100))
    assert tuple(complete({"train": range(100)}, int, 0, "x")) == (train, validation, test)
    assert complete({"train": range(100)}, int, 1, "x").test != test


def test_what_is_held_out_is_bounded() -> None:
    parts = complete({"train": range(50_000)}, int, 0, "x")
    assert [len(part) for part in parts] == [46_000, 2000, 2000]


def test_examples_that_are_alike_stay_together() -> None:
    parts = complete({"train": range(200)}, lambda number: number % 20, 0, "x")
    kinds = [{number % 20 for number in part} for part in parts]
    assert sum(map(len, kinds)) == 20
    assert len(set.union(*kinds)) == 20


def test_parts_that_are_given_stay_as_they_are() -> None:
    given = {"train": range(20), "test": range(5)}
    train, validation, test = complete(given, int, 0, "x")
    assert list(test) == list(range(5))
    assert sorted([*train, *validation]) == list(range(20))
    assert len(validation) == 2
    both = complete(given | {"validation": range(3)}, int, 0, "x")
    assert tuple(both) == (list(range(20)), range(3), range(5))


def test_too_few_different_examples() -> None:
    with pytest.raises(
        DataError, match=r"x has .* examples, of which 2 differ; training and validation and test need one each"
    ):
        complete({"train": [1, 1, 2, 2]}, int, 0, "x")


def test_a_fingerprint_tells_where_texts_end() -> None:
    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"])
    assert fingerprint(["ab", "c"]) == fingerprint(["ab", "c"])
