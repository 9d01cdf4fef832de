"""The strided backend: a window and a column in one softmax."""

import pytest
import torch

from zoo.core import ConfigError, Lengths, Strided, attend, plan


@pytest.mark.parametrize("length", [1, 7, 8, 9, 50])
@pytest.mark.parametrize("stride", [1, 3, 8, 60])
def test_it_equals_its_mask(length: int, stride: int) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, length, 2, 4, dtype=torch.float64) for _ in range(3))
    keys = Lengths(torch.tensor([length, length // 2]))
    for given in (None, keys):
        answers = [attend(q, k, v, Strided(stride), given, backend=b) for b in ("strided", "reference")]
        torch.testing.assert_close(*answers)


def test_it_costs_the_root_of_the_length_for_each_query() -> None:
    chosen = plan(Strided(64), queries=4096, keys=4096, heads=1, head_dim=32)
    assert chosen.backend == "strided"
    assert chosen.flops == 2 * 4096 * (2 * 64 + 64) * 64


def test_a_part_of_the_queries_is_refused() -> None:
    q, k = torch.randn(1, 2, 1, 4), torch.randn(1, 5, 1, 4)
    with pytest.raises(ConfigError, match="do not stand at the same positions"):
        attend(q, k, k, Strided(2), q_start=3, backend="strided")
