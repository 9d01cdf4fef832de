"""What is asked of nodes."""

import math

import pytest
import torch

from zoo.core import Classify, ConfigError, Segments, Tokens
from zoo.plugins.graph.layers.heads import Link, NodeFeatures, NodeTag, node_head

TOKENS = Tokens(torch.randn(1, 5, 4), keys=Segments(torch.tensor([[0, 0, 1, 1, 1]])))
PAIRS = torch.tensor([[0, 2, 4], [1, 2, 3]])


def test_nodes_are_answered_without_an_axis_for_rows() -> None:
    assert node_head("tag", 4, 3, "mean")(TOKENS).shape == (5, 3)
    assert node_head("tag", 4, 0, "mean")(TOKENS).shape == (5, 4)
    torch.testing.assert_close(node_head("features", 4, 0, "mean")(TOKENS), TOKENS.x[0])
    assert node_head("classify", 4, 3, "sum")(TOKENS).shape == (2, 3)


def test_a_link_is_scored_by_the_product_of_both_nodes() -> None:
    link = Link(4, 2)
    left, right = TOKENS.x[0, PAIRS[0]], TOKENS.x[0, PAIRS[1]]
    torch.testing.assert_close(link(TOKENS, PAIRS), link.linear(left * right))
    torch.testing.assert_close(link(TOKENS, PAIRS), link(TOKENS, PAIRS.flip(0)))
    link.reset(0)
    torch.testing.assert_close(link(TOKENS, PAIRS), (left * right).sum(1) / math.sqrt(4))


def test_heads_are_made_by_task() -> None:
    kinds = {"classify": Classify, "tag": NodeTag, "features": NodeFeatures, "link": Link}
    assert all(type(node_head(task, 4, 0, "mean")) is kind for task, kind in kinds.items())
    with pytest.raises(ConfigError, match="task='generate' is not one of classify, tag, link, features"):
        node_head("generate", 4, 0, "mean")


def test_numbers_come_in_their_units_and_a_fresh_head_of_others_gives_them_as_they_are() -> None:
    tokens = Tokens(torch.randn(1, 4, 3))
    plain, scaled = (node_head("tag", 3, 2, "mean", units) for units in ((), ((5.0, 10.0), (-1.0, 2.0))))
    scaled.head.load_state_dict(plain.state_dict())
    assert torch.allclose(scaled(tokens), torch.tensor([5.0, -1.0]) + torch.tensor([10.0, 2.0]) * plain(tokens))
    scaled.reset(3)
    assert torch.equal(scaled(tokens), scaled.head(tokens))


@pytest.mark.parametrize("units", [[[0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
def test_units_that_do_not_fit_the_numbers_are_refused(units: list[list[float]]) -> None:
    with pytest.raises(ConfigError, match="a mean and a positive deviation for each of 2 numbers"):
        node_head("tag", 3, 2, "mean", units)
