"""Raw features: numbers, categories, or none; and what a model does not read."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import ConfigError, InputError
from zoo.plugins.graph.tokens import feature_encoders
from zoo.plugins.graph.tokens.feature_encoders import Kinds, check_features, check_kinds, distinct, features


@pytest.mark.parametrize("spelled", [0, 100])
def test_categories_are_summed_column_by_column(spelled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_encoders, "SPELLED", spelled)
    embed = features([3, 2], 4)
    x = torch.tensor([[2, 0], [0, 1], [1, 1], [0, 1]])
    wanted = torch.stack([embed.weight[a] + embed.weight[3 + b] for a, b in x.tolist()])
    slope = torch.randn(4, 4)
    got, want = (torch.autograd.grad((y * slope).sum(), embed.weight)[0] for y in (embed(x), wanted))
    torch.testing.assert_close(embed(x), wanted)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("kinds", [(3, 2, 5), (3, 2, 1 << 62)])
def test_rows_that_are_alike_are_found(kinds: tuple[int, ...]) -> None:
    x = torch.tensor([[2, 0, 4], [0, 1, 0], [2, 0, 4], [0, 0, 0], [0, 1, 0]])
    found = distinct(x, kinds)
    assert torch.equal(found.rows[found.of], x)
    assert len(found.rows) == (3 if kinds[2] == 5 else 5)
    assert distinct(x, (3, 2, 5)) is distinct(x, (3, 2, 5))
    assert len(distinct(x[:0], kinds).rows) == 0


def test_numbers_are_projected_and_nothing_gives_one_vector_for_all() -> None:
    x = torch.randn(5, 3)
    project = features(3, 4, bias=False)
    torch.testing.assert_close(project(x), x @ project.weight.T)
    assert len(features(0, 4)(x[:, :0]).unique(dim=0)) == 1


@pytest.mark.parametrize(
    ("x", "kinds", "text"),
    [
        (torch.randn(2, 3), 4, r"x of shape \(2, 3\): the model reads 4 channels; node_features= says what it reads"),
        (torch.randn(2, 3), [5], r"x of shape \(2, 3\): the model reads 1 columns of categories"),
        (torch.ones(2, 3).long(), 3, r"x is torch.int64, the model is torch.float32: .* unless these are categories"),
        (torch.ones(2, 3).double(), 3, r"x is torch.float64, the model is torch.float32: x.to\(torch.float32\)$"),
        (torch.ones(2, 2), [5, 5], r"x is torch.float32, the model reads 2 columns of categories: x.long\(\)"),
        (torch.tensor([[1.0, torch.nan]]), 2, r"x\[0, 1\] is nan: features are finite"),
        (torch.tensor([[1, 0], [0, 2]]), [5, 2], r"x\[1, 1\] is 2: its columns have \[5, 2\] categories, from 0 on"),
        (torch.tensor([[-1]]), [5], r"x\[0, 0\] is -1"),
    ],
)
def test_features_that_do_not_fit_are_named(x: Tensor, kinds: Kinds, text: str) -> None:
    with pytest.raises(InputError, match=text):
        check_features(x, kinds, "x", torch.float32)


def test_autocast_reads_other_precisions() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check_features(torch.ones(2, 3).bfloat16(), 3, "x", torch.float32)


@pytest.mark.parametrize("kinds", [-1, [], [3, 0], "many", True])
def test_what_says_nothing_of_features_is_refused(kinds: Any) -> None:
    with pytest.raises(ConfigError, match="is neither a number of channels nor a list of categories"):
        getattr(check_kinds, "__wrapped__", check_kinds)(kinds, "node_features")
