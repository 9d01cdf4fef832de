from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from zoo.data import splits
from zoo.data.splits import by_hash, by_text, complete, fingerprint, hash_fraction, hash_names
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


def named(numbers: Iterable[int]) -> NDArray[np.uint64]:
    return hash_names(b"%d.png" % number for number in numbers)


def test_an_example_stays_in_its_part_when_others_come_and_go() -> None:
    few, more = by_hash(named(range(500)), 0), by_hash(named(range(400, 3000)), 0)
    for part in few:
        assert {place - 400 for place in few[part] if place >= 400} == {place for place in more[part] if place < 100}


def test_parts_drawn_by_hash_have_their_share_of_each_class() -> None:
    classes = np.arange(9000) % 3
    parts = by_hash(named(range(9000)), 1, classes, share=0.15)
    assert sorted(np.concatenate([*parts.values()])) == list(range(9000))
    for part, share in (("train", 0.7), ("validation", 0.15), ("test", 0.15)):
        counts = np.bincount(classes[parts[part]])
        assert np.abs(counts / 3000 - share).max() < 0.03


def test_a_class_of_three_is_in_each_part_and_one_of_two_is_not_counted_twice() -> None:
    classes = np.repeat([0, 1, 2], [3, 2, 40])
    for seed in range(20):
        parts = by_hash(named(range(45)), seed, classes)
        assert [np.bincount(classes[places], minlength=3)[0] for places in parts.values()] == [1, 1, 1]
        assert sorted(np.concatenate([*parts.values()])) == list(range(45))


def test_another_seed_draws_other_parts() -> None:
    one, other = (by_hash(named(range(100)), seed)["test"].tolist() for seed in (0, 1))
    assert one != other


def test_only_the_parts_that_are_asked_for_are_drawn() -> None:
    parts = by_hash(named(range(100)), 0, held_out=("validation",))
    assert set(parts) == {"validation", "train"}
    assert sum(map(len, parts.values())) == 100


def test_no_examples_have_empty_parts() -> None:
    assert {len(places) for places in by_hash(named(range(0)), 0).values()} == {0}


def test_a_hash_is_that_of_name_and_seed_and_evenly_spread() -> None:
    places = [hash_fraction(f"größer {number}", 3) for number in range(4000)]
    assert places == [hash_fraction(f"größer {number}", 3) for number in range(4000)]
    assert places != [hash_fraction(f"größer {number}", -3) for number in range(4000)]
    assert all(0 <= place < 1 for place in places)
    for tenth in range(10):
        assert sum(tenth <= 10 * place < tenth + 1 for place in places) == pytest.approx(400, abs=100)
    assert 0 <= hash_fraction("half a character: \ud800", 0) < 1


TEXTS = [f"text {number}" for number in range(400)]


def home(texts: list[str], wanted: tuple[str, ...] = ("test", "validation")) -> dict[str, str]:
    return by_text(texts, wanted, 3)


def test_texts_keep_their_parts_when_others_come_or_go() -> None:
    for fewer in (TEXTS[:300], TEXTS[100:], TEXTS[::2]):
        assert home(fewer) == {text: part for text, part in home(TEXTS).items() if text in fewer}
    assert home(TEXTS, ("validation",)).keys() == {text for text, part in home(TEXTS).items() if part == "validation"}
    sizes = Counter(home(TEXTS).values())
    assert all(20 <= sizes[part] <= 60 for part in ("test", "validation"))
    assert home(TEXTS) != by_text(TEXTS, ("test", "validation"), 4)


def test_texts_of_a_smaller_share_are_among_those_of_a_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = home(TEXTS)
    monkeypatch.setattr(splits, "_MOST", 5)
    few = home(TEXTS)
    assert Counter(few.values()) == {"test": 5, "validation": 5}
    assert few.items() <= whole.items()


@pytest.mark.parametrize("count", range(3, 12))
def test_of_few_texts_each_part_has_one_and_most_are_for_training(count: int) -> None:
    for seed in range(20):
        parts = complete({"train": TEXTS[:count]}, str, seed, "x", by_text)
        assert len(parts.train) + len(parts.validation) + len(parts.test) == count
        assert min(map(len, parts)) >= 1
        assert len(parts.train) >= count - 2 * max(1, count // 5)


def test_examples_of_one_hash_are_in_one_part_and_count_once() -> None:
    hashes = named(range(45))
    classes = np.arange(45) % 3
    alone = by_hash(hashes, 2, classes)
    twice = by_hash(np.concatenate([hashes, hashes[::-1]]), 2, np.concatenate([classes, classes[::-1]]))
    for part, places in twice.items():
        assert sorted(places.tolist()) == sorted([*alone[part].tolist(), *(89 - alone[part]).tolist()])
