"""Where autocast is off, and the precision of scores that are summed up."""

import torch
from torch import Tensor

from zoo.core.ops.autocast import autocast_off, compute_dtype, no_autocast, precise


class Square(torch.autograd.Function):
    @staticmethod
    @no_autocast
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        return x @ x

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> Tensor:
        return gradients[0]


def test_products_inside_stay_in_float32_and_those_outside_do_not() -> None:
    x = torch.full((2, 2), 1 + 2**-12)  # bfloat16 rounds it to 1
    with torch.autocast("cpu", torch.bfloat16):
        inside, outside = Square.apply(x), x @ x
    assert outside.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert torch.equal(inside, x @ x)


def test_autocast_is_off_on_a_device_that_has_it_and_the_meta_device_is_let_be() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16), autocast_off(x.device):
        assert (x @ x).dtype is torch.float32
    with autocast_off(torch.device("meta")):
        assert (x.to("meta") @ x.to("meta")).dtype is torch.float32


def test_products_are_computed_in_the_dtype_of_autocast_where_there_is_one() -> None:
    x = torch.ones(2)
    assert compute_dtype(x) is torch.float32
    assert compute_dtype(x.to("meta").half()) is torch.float16
    with torch.autocast("cpu", torch.bfloat16):
        assert compute_dtype(x) is torch.bfloat16


def test_scores_are_summed_in_float32_or_more() -> None:
    assert precise(torch.tensor([1.0], dtype=torch.bfloat16)).add(2**-20)[0] == 1 + 2**-20
    fine = torch.tensor([1 + 2**-40], dtype=torch.float64)
    assert precise(fine) is fine
