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


class Sub(Tensor):
    """A tensor of a class of its own, such as a sharded one."""


@pytest.mark.parametrize(
    "change",
    [
        lambda x, w, b: (x.expand(5, 4), w, b),
        lambda x, w, b: (x[:0], w, b),
        lambda x, w, b: (x.double(), w.double(), b.double()),
        lambda x, w, b: (x, w, b.double()),
        lambda x, w, b: (x, w[:3], b[:3]),
        lambda x, w, b: (x, w.T.contiguous().T, b),
        lambda x, w, b: (x, w.clone().requires_grad_(), b),
        lambda x, w, b: (x, w, b.clone().requires_grad_()),
        lambda x, w, b: (x, w.as_subclass(Sub), b),
        lambda x, w, b: (x, w.to_sparse(), b),
    ],
    ids=["many", "none", "float64", "mixed", "wide", "transposed", "gradient", "bias-gradient", "subclass", "sparse"],
)
def test_all_else_is_left(change: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> None:
    x, weight, bias = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6)
    assert in_columns(x, weight, bias, 4)
    assert not in_columns(*change(x, weight, bias), 4)


def test_autocast_and_counters_of_operations_see_linear() -> None:
    x, weight = torch.randn(1, 4), torch.randn(6, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert not in_columns(x, weight, None, 4)
    with torch.utils.flop_counter.FlopCounterMode(display=False):
        assert not in_columns(x, weight, None, 4)
