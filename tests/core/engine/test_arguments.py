"""Arguments: a part of the queries is a call of its own."""

import pytest
import torch

from zoo.core import attend
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.preparation import prepare
from zoo.core.patterns.padding import Segments
from zoo.core.scoring.bias import Dense

q, k, v = torch.randn(3, 2, 5, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).unbind(0)


@pytest.mark.parametrize("first", [0, 2])
def test_a_block_of_queries_gives_its_part_of_the_whole(first: int) -> None:
    bias = torch.randn(1, 2, 5, 5, dtype=torch.float64)
    ids = torch.tensor([[0, 0, 1, 1, -1], [0, 1, 1, 1, 1]])
    part = prepare(Arguments(q, k, v, keys=Segments(ids), bias=Dense(bias))).queries(first, first + 2)
    assert part.bias is not None
    y = attend(part.q, k, v, keys=part.keys, bias=part.bias, q_start=first)
    torch.testing.assert_close(y, attend(q, k, v, keys=Segments(ids), bias=bias)[:, first : first + 2])
