"""Activations, with a gradient and in place."""

import pytest
import torch

from zoo.core.ops.activations import gelu, gelu_tanh, relu, silu
from zoo.core.ops.onednn import Activation

ALIKE: list[tuple[Activation, Activation]] = [
    (gelu, torch.nn.functional.gelu),
    (gelu_tanh, lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    (relu, torch.relu),
    (silu, torch.nn.functional.silu),
]


@pytest.mark.parametrize(("ours", "theirs"), ALIKE)
def test_values_are_those_of_pytorch_and_no_input_that_a_gradient_needs_is_overwritten(
    ours: Activation, theirs: Activation
) -> None:
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    kept = x.detach().clone()
    assert torch.autograd.gradcheck(ours, (x,))
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(x.detach(), kept, rtol=0, atol=0)


@pytest.mark.parametrize(("ours", "theirs"), ALIKE)
def test_a_temporary_is_overwritten(ours: Activation, theirs: Activation) -> None:
    x = torch.randn(4, 5)
    wanted = theirs(x)
    assert ours(x).data_ptr() == x.data_ptr()
    torch.testing.assert_close(x, wanted)
