"""Weights in blocks are the weights at once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.core import ConfigError, Edges, Segments, attend, weight_blocks
from zoo.core.patterns.pattern import ShapeInfo
from zoo.core.scoring.bias import Dense
from zoo.testing.strategies import Case, cases, random_cases

pytestmark = pytest.mark.usefixtures("float64")


@given(case=cases(), size=st.integers(1, 4))
@random_cases(30)
def test_blocks_of_weights_are_those_at_once(case: Case, size: int) -> None:
    q, k, v, *_ = case.tensors()
    whole = attend(q, k, v, case.pattern, case.keys, return_weights=True)[1] if _fits(case) else None
    if whole is not None and case.queries:
        blocks = list(weight_blocks(q, k, case.pattern, case.keys, size=size))
        assert all(block.shape[2] <= size for block in blocks)
        torch.testing.assert_close(torch.cat(blocks, 2), whole)


def _fits(case: Case) -> bool:
    if case.pattern.misfit(ShapeInfo(case.queries, case.length)) or case.positions is not None:
        return False
    return case.start == 0 and (not isinstance(case.keys, Segments) or case.keys.queries is not None)


def test_a_bias_is_cut_with_the_queries() -> None:
    q, k, bias = torch.randn(1, 5, 2, 4), torch.randn(1, 3, 2, 4), torch.randn(1, 2, 5, 3)
    whole = attend(q, k, k, bias=Dense(bias), return_weights=True)[1]
    for form in (bias, Dense(bias)):
        torch.testing.assert_close(torch.cat(list(weight_blocks(q, k, bias=form, size=2)), 2), whole)


def test_a_graph_gives_its_weights_in_blocks() -> None:
    q, k, pattern = torch.randn(1, 9, 2, 4), torch.randn(1, 9, 2, 4), Edges(torch.tensor([[0, 1, 3], [5, 8, 0]]))
    whole = attend(q, k, k, pattern, return_weights=True)[1]
    torch.testing.assert_close(torch.cat(list(weight_blocks(q, k, pattern, size=4)), 2), whole)


def test_a_block_of_nothing_is_refused() -> None:
    q = torch.randn(1, 2, 1, 4)
    with pytest.raises(ConfigError, match="size=0: a block has at least one query"):
        list(weight_blocks(q, q, size=0))
