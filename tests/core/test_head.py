"""Heads: what is asked of the vectors."""

import pytest
import torch

from zoo.core import Classify, ConfigError, Features, Lengths, Tag, Tokens
from zoo.core.head import head


def test_the_mean_counts_only_what_is_there() -> None:
    x = torch.randn(2, 4, 3)
    x[1, 2:] = torch.nan
    pooled = Classify(3, 0, "mean")(Tokens(x, keys=Lengths(torch.tensor([4, 2]))))
    torch.testing.assert_close(pooled, torch.stack([x[0].mean(0), x[1, :2].mean(0)]))


def test_the_mean_of_an_empty_set_is_zero() -> None:
    tokens = Tokens(torch.randn(1, 2, 3), keys=Lengths(torch.tensor([0])))
    assert not Classify(3, 0, "mean")(tokens).any()


def test_the_first_vector_is_the_class_token() -> None:
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(Classify(3, 0, "first")(Tokens(x)), x[:, 0])


def test_tag_labels_each_vector_behind_the_prefix() -> None:
    assert Tag(3, 5, prefix=1)(Tokens(torch.randn(2, 4, 3))).shape == (2, 3, 5)


def test_reset_keeps_dtype() -> None:
    classify = Classify(3, 5).to(torch.bfloat16)
    classify.reset(7)
    assert classify.linear.weight.shape == (7, 3)
    assert classify.linear.weight.dtype == torch.bfloat16
    assert classify.num_classes == 7


def test_features_are_the_vectors_and_take_no_classifier() -> None:
    x = torch.randn(1, 2, 3)
    assert Features(3)(Tokens(x)) is x
    with pytest.raises(ConfigError, match="num_classes=4 with task='features'"):
        Features(3).reset(4)


@pytest.mark.parametrize(
    ("task", "classes", "pool", "text"),
    [
        ("segment", 2, "first", "task='segment' is not one of classify, tag, features"),
        ("classify", 2, "max", "pool='max' is not one of first, mean"),
        ("classify", -1, "first", "num_classes=-1 is negative"),
    ],
)
def test_unknown_options_are_refused(task: str, classes: int, pool: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        head(task, 3, classes, pool=pool)
