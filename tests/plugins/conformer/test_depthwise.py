"""The depthwise convolution and its own gradients: against PyTorch's."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv1d

from zoo.plugins.conformer import depthwise
from zoo.plugins.conformer.depthwise import Convolved, convolved, prefers_products


def drawn(frames: int, kernel: int) -> tuple[Tensor, Tensor, Tensor]:
    shapes = (2, frames, 3), (3, 1, kernel), (3,)
    x, weight, bias = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    return x, weight, bias


@pytest.mark.parametrize(("frames", "around"), [(4, 0), (7, 0), (8, 2), (5, 3)])
def test_its_gradients_are_those_of_its_answer(frames: int, around: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depthwise, "TOGETHER", 4)  # stretches that end with the frames, before and behind them
    x, weight, bias = drawn(frames, 4)
    assert torch.autograd.gradcheck(lambda *given: Convolved.apply(*given, around), (x, weight, bias))
    assert torch.autograd.gradcheck(lambda *given: Convolved.apply(*given, None, around), (x, weight))


def test_its_second_derivatives_are_those_of_its_gradients() -> None:
    assert torch.autograd.gradgradcheck(lambda *given: Convolved.apply(*given, 1), drawn(5, 4))


def test_transforms_of_functions_do_without_it() -> None:
    x, weight, _ = (part.detach().float() for part in drawn(7, 4))
    weight.requires_grad_()  # as a parameter that a transform does not know of
    chosen: list[bool] = []

    def loss(x: Tensor) -> Tensor:
        chosen.append(prefers_products(x, weight))
        return convolved(x, weight, None, 1).sum()

    torch.func.grad(loss)(x)
    assert [*chosen, prefers_products(x, weight)] == [False, True]


@pytest.mark.parametrize("function", [convolved, Convolved.apply])
def test_it_is_pytorchs_with_zeros_around(function: object) -> None:
    assert callable(function)
    x, weight, bias = drawn(9, 4)
    expected = conv1d(x.transpose(1, 2), weight, bias, padding=2, groups=3).transpose(1, 2)
    torch.testing.assert_close(function(x, weight, bias, 2), expected)


def test_vectors_that_want_no_gradient_get_none() -> None:
    x, weight, bias = drawn(6, 3)
    (Convolved.apply(x.detach(), weight, bias, 1)).sum().backward()
    assert x.grad is None
    assert weight.grad is not None


def test_own_gradients_are_for_training_in_float32_alone() -> None:
    x, weight = torch.zeros(1, 4, 3), torch.zeros(3, 1, 2, requires_grad=True)
    assert prefers_products(x, weight)
    assert not prefers_products(x, weight.detach())
    assert not prefers_products(x.double(), weight.double())
    assert not prefers_products(x.bfloat16(), weight.bfloat16())
    with torch.no_grad():
        assert not prefers_products(x, weight)
    with torch.autocast("cpu", torch.bfloat16):
        assert not prefers_products(x, weight)
