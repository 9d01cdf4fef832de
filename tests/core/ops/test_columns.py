"""Products of few rows, as columns."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from zoo.core.ops import columns
from zoo.core.ops.columns import by_columns, in_columns


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LARGE", 1)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 2), (1, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_the_answer_is_that_of_linear_and_contiguous(shape: tuple[int, ...], bias: bool) -> None:
    x, weight, added = torch.randn(*shape, 16), torch.randn(20, 16), torch.randn(20) if bias else None
    found = by_columns(x, weight, added)
    exact = torch.nn.functional.linear(x.double(), weight.double(), None if added is None else added.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)
    assert found.is_contiguous()


def test_a_row_alone_has_the_answer_that_it_has_beside_its_equal() -> None:
    x, weight = torch.randn(1, 16), torch.randn(20, 16)
    assert torch.equal(by_columns(x, weight, None), by_columns(x.repeat(2, 1), weight, None)[:1])


@pytest.mark.parametrize(
    "change",
    [
        lambda x, w: (x.expand(5, 4), w),
        lambda x, w: (x[:0], w),
        lambda x, w: (x.double(), w.double()),
        lambda x, w: (x, w[:3]),
        lambda x, w: (x, w.T.contiguous().T),
        lambda x, w: (x, w.clone().requires_grad_()),
    ],
    ids=["many", "none", "float64", "wide", "turned", "gradient"],
)
def test_all_else_is_left(change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    x, weight = torch.randn(1, 4), torch.randn(6, 4)
    assert in_columns(x, weight, 4)
    assert not in_columns(*change(x, weight), 4)


def test_autocast_and_counters_of_operations_see_linear() -> None:
    x, weight = torch.randn(1, 4), torch.randn(6, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert not in_columns(x, weight, 4)
    with torch.utils.flop_counter.FlopCounterMode(display=False):
        assert not in_columns(x, weight, 4)
