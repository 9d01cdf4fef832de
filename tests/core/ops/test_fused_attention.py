"""The kernel has all derivatives: those of PyTorch's formula."""

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from zoo.core import ConfigError
from zoo.core.ops.fused_attention import fused_attention

MASK = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4, [False, True, True, False]])
CASES: dict[str, dict[str, Any]] = {
    "full": {},
    "causal": {"causal": True},
    "mask with a row of nothing": {"mask": MASK},
    "scale": {"scale": 0.3, "mask": torch.linspace(-2, 1, 16, dtype=torch.float64).view(4, 4)},
}


def drawn(heads: int = 2, wide: int = 5) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = (2, 2, 4, 5), (2, heads, 4, 5), (2, heads, 4, wide)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def formula(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False, **scale: Any) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, enable_gqa=k.shape[1] != q.shape[1], **scale
        )


def second(attention: Any, inputs: list[Tensor], by: list[Tensor], **options: Any) -> tuple[Tensor | None, ...]:
    """Give derivatives by all inputs of the size of the gradients by some."""
    loss = attention(*inputs, **options).pow(3).sum()
    size = torch.stack([x.square().sum() for x in torch.autograd.grad(loss, by, create_graph=True)]).sum()
    return torch.autograd.grad(size, inputs)


@pytest.mark.parametrize("heads", [2, 1])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("by", [(0, 1, 2), (0,), (1, 2)])
def test_second_derivatives_are_those_of_the_formula(options: dict[str, Any], heads: int, by: tuple[int, ...]) -> None:
    inputs = drawn(heads)
    some = [inputs[place] for place in by]
    torch.testing.assert_close(
        second(fused_attention, inputs, some, **options), second(formula, inputs, some, **options)
    )


def test_third_derivatives_are_there_and_inputs_without_gradients_have_none() -> None:
    q, k, v = drawn()
    v = v.detach()

    def third(attention: Any) -> Tensor:
        x = attention(q, k, v).pow(3).sum()
        for _ in range(2):
            (slope,) = torch.autograd.grad(x, q, create_graph=True)
            x = slope.pow(2).sum()
        return torch.autograd.grad(x, q)[0]

    torch.testing.assert_close(third(fused_attention), third(formula))


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_transforms_have_the_formula_s_derivatives(options: dict[str, Any]) -> None:
    q, k, v = (x.detach() for x in drawn())
    for transform in (torch.func.hessian, torch.func.jacfwd, torch.func.jacrev, torch.vmap):
        given = [x.expand(3, *x.shape) if transform is torch.vmap else x for x in (q, k, v)]
        got, expected = (transform(lambda *x, f=f: f(*x, **options))(*given) for f in (fused_attention, formula))
        torch.testing.assert_close(got, expected)


def test_first_gradients_are_the_kernel_s_own() -> None:
    inputs = drawn()
    kernels: list[Any] = [fused_attention, scaled_dot_product_attention]
    got, expected = (torch.autograd.grad(kernel(*inputs).sum(), inputs) for kernel in kernels)
    assert all(torch.equal(x, y) for x, y in zip(got, expected, strict=True))


def test_the_graph_is_freed_with_the_answer() -> None:
    gc.disable()
    try:
        inputs = drawn()
        held = inputs[0] * 1
        watched = weakref.ref(held)
        y = fused_attention(held, *inputs[1:])
        del held, y
        assert watched() is None
    finally:
        gc.enable()


def test_a_kernel_of_an_accelerator_refuses_gradients_that_are_to_be_differentiated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = SimpleNamespace(name=lambda: "ScaledDotProductEfficientAttentionBackward0")
    monkeypatch.setattr(torch._C, "_current_autograd_node", lambda: node)
    inputs = drawn()
    fused_attention(*inputs).sum().backward()
    with pytest.raises(ConfigError, match='backend="reference"'):
        fused_attention(*inputs).sum().backward(create_graph=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"mask": torch.linspace(-2, 1, 16).view(4, 4)}])
def test_half_precision_is_rounded_once_where_its_backward_pass_is_slow(
    dtype: torch.dtype, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    inputs = [x.detach().to(dtype).requires_grad_() for x in drawn()]
    given: dict[str, Any] = {name: x.to(dtype) if torch.is_tensor(x) else x for name, x in options.items()}
    wanted: dict[str, Any] = {name: x.float() if torch.is_tensor(x) else x for name, x in given.items()}
    exact = [x.detach().float().requires_grad_() for x in inputs]
    with torch.autocast("cpu", dtype):  # which casts what the kernel is given
        got = fused_attention(*inputs, **given)
    found = [got, *torch.autograd.grad(got.float().sum(), inputs)]
    y = fused_attention(*exact, **wanted)
    for one, other in zip(found, [y, *torch.autograd.grad(y.sum(), exact)], strict=True):
        assert one.dtype is dtype
        assert torch.equal(one, other.to(dtype))


def test_half_precision_stays_without_gradients_and_where_the_processor_multiplies_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[torch.dtype] = []

    def kernel(q: Tensor, *more: Any, **options: Any) -> Tensor:
        seen.append(q.dtype)
        return q

    monkeypatch.setattr("zoo.core.ops.fused_attention.scaled_dot_product_attention", kernel)
    for units in ({}, {"amx_bf16": True}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda units=units: units)
        for grad in (True, False):
            q, k, v = (x.detach().bfloat16().requires_grad_(grad) for x in drawn())
            fused_attention(q, k, v)
    assert seen == [torch.float32, *[torch.bfloat16] * 3]
