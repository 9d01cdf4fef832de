"""Some classes of a corpus, numbered anew, with few examples of each."""

from typing import Any

import pytest
import torch

import zoo
from zoo.bench.fine_tuning.some_classes import SomeClasses
from zoo.bench.fine_tuning.study import SIZES


@pytest.fixture(scope="module")
def digits() -> Any:
    return zoo.data.open_corpus("digits", zoo.info("vit-micro").with_config(**SIZES["digits"]))


def test_a_few_of_each_class_are_drawn_and_numbered_anew(digits: Any) -> None:
    few = SomeClasses(digits, range(5, 10), each=3, seed=1)
    assert few.sizes["train"] == 15
    assert few.classes_of("train").bincount().tolist() == [3] * 5
    batch = few.batch(torch.arange(15), torch.Generator())
    assert torch.equal(batch.target, few.classes_of("train"))
    assert few.overrides()["num_classes"] == 5
    assert few.labels == ["5", "6", "7", "8", "9"]


def test_fewer_examples_of_a_seed_are_among_more(digits: Any) -> None:
    few, more = (SomeClasses(digits, range(5), each=each, seed=2).chosen["train"].tolist() for each in (2, 6))
    assert set(few) <= set(more)
    assert set(few) != set(SomeClasses(digits, range(5), each=2, seed=3).chosen["train"].tolist())


def test_held_out_examples_are_those_of_the_classes(digits: Any) -> None:
    few = SomeClasses(digits, (7, 2))
    targets = torch.cat([batch.target for batch in few.held_out("test", 16)])
    own = digits.classes_of("test")
    assert targets.bincount().tolist() == [int((own == 7).sum()), int((own == 2).sum())]


def test_data_without_classes_are_refused() -> None:
    corpus = zoo.data.open_corpus("numbers:en", zoo.info("transformer-tiny"))
    with pytest.raises(zoo.ConfigError, match="no class each"):
        SomeClasses(corpus, (0, 1))
