"""Rounding of weights, products and look-ups of an `Int8Matrix`, and what it does in the place of a parameter."""

import io
from copy import deepcopy
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from zoo.core import ConfigError, Int8Matrix
from zoo.core.ops.products import multiply


def weights(e: int = 24, d: int = 40, dtype: torch.dtype = torch.float32) -> Tensor:
    torch.manual_seed(0)
    return (torch.randn(e, d) * torch.logspace(-3, 3, e)[:, None]).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_weight_is_off_by_half_a_step_of_its_row_at_most(dtype: torch.dtype) -> None:
    weight = weights(dtype=dtype)
    made = Int8Matrix.of(weight)
    stands_for = made.int8.double() * made.scale.double()[:, None]
    step = made.scale.double()[:, None]
    assert ((weight.double() - stands_for).abs() <= step / 2 * (1 + 1e-6)).all()
    assert torch.equal(made.int8.abs().amax(1), torch.full((24,), 127, dtype=torch.int8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_what_it_stands_for_gives_it_again(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    made = Int8Matrix.of(torch.randn(20_000, 3).to(dtype))
    again = Int8Matrix.of(made.dequantized())
    assert torch.equal(again.int8, made.int8)
    assert torch.equal(again.scale, made.scale)


def test_a_row_of_zeros_stays_zero() -> None:
    weight = weights()
    weight[3] = 0
    assert not Int8Matrix.of(weight).dequantized()[3].any()


def test_weights_that_are_not_finite_are_refused() -> None:
    weight = weights()
    weight[3, 2] = torch.nan
    with pytest.raises(ConfigError, match="NaN or infinity cannot be int8"):
        Int8Matrix.of(weight)


@pytest.mark.parametrize("shape", [(40,), (1, 40), (2, 3, 40)])
def test_products_are_those_of_what_it_stands_for(int8_way: str, shape: tuple[int, ...]) -> None:
    made, x, bias = Int8Matrix.of(weights()), torch.randn(shape), torch.randn(24)
    wanted = x.double() @ made.dequantized().double().T + bias
    for y in (multiply(x, made, bias), nn.functional.linear(x, cast(Any, made), bias)):
        assert y.shape == (*shape[:-1], 24)
        off = (y - wanted).abs() / (x.double().norm() * made.dequantized().double().norm(dim=1))
        assert off.max() < 1e-4


@pytest.mark.parametrize("autocast", [False, True])
def test_products_in_float16_do_not_overflow(autocast: bool) -> None:
    made, x = Int8Matrix.of(torch.ones(4, 768)), torch.ones(1, 768, requires_grad=True)
    with torch.autocast("cpu", torch.float16, enabled=autocast):
        y = made.multiply(x if autocast else x.half(), None)
    assert torch.equal(y.float(), torch.full((1, 4), 768.0))
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full((1, 768), 4.0))


def test_functions_of_pytorch_take_it_by_name_too() -> None:
    made: Any = Int8Matrix.of(weights())
    x, bias, ids = torch.randn(2, 40), torch.randn(24), torch.tensor([3, 0])
    found = nn.functional.linear(x, weight=made, bias=bias)
    assert torch.equal(found, nn.functional.linear(x, made, bias))
    assert torch.equal(nn.functional.linear(input=x, weight=made), made.multiply(x, None))
    assert torch.equal(nn.functional.embedding(ids, weight=made), made.lookup(ids))
    assert torch.equal(nn.functional.linear(made, made.dequantized()), made.dequantized() @ made.dequantized().T)


def test_blocks_of_rows_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    made, x = Int8Matrix.of(weights()), torch.randn(3, 40).double()
    whole = made.multiply(x, None)
    monkeypatch.setattr("zoo.core.ops.int8.int8_matrix.CACHED", 5 * 40)
    torch.testing.assert_close(made.multiply(x, None), whole)
    monkeypatch.setattr("zoo.core.ops.int8.int8_matrix.BLOCK", 5 * 40)
    (slopes,) = torch.autograd.grad(made.multiply(x.requires_grad_(), None).sum(), x)
    torch.testing.assert_close(slopes, made.dequantized().double().sum(0).expand(3, -1), rtol=1e-5, atol=1e-3)


def test_gradients_reach_what_is_multiplied(int8_way: str) -> None:
    made, x = Int8Matrix.of(weights()), torch.randn(3, 40, requires_grad=True)
    g = torch.randn(3, 24)
    (found,) = torch.autograd.grad(made.multiply(x, None), x, g)
    assert torch.allclose(found, g @ made.dequantized(), rtol=1e-4, atol=1e-2)


def test_a_look_up_gives_rows() -> None:
    made, ids = Int8Matrix.of(weights()), torch.tensor([[3, 0], [3, 23]])
    assert torch.equal(made.lookup(ids), made.dequantized()[ids])
    assert torch.equal(nn.functional.embedding(ids, cast(Any, made)), made.dequantized()[ids])


def test_a_range_of_rows_is_such_a_matrix(int8_way: str) -> None:
    made, x = Int8Matrix.of(weights()), torch.randn(1, 40)
    part = made[8:]
    assert isinstance(part, Int8Matrix)
    assert part is made[8:24]
    assert torch.equal(multiply(x, part, None), multiply(x, made, None)[:, 8:])
    assert torch.equal(cast(Tensor, made[3]), made.dequantized()[3])


def test_other_operations_see_floats() -> None:
    made = Int8Matrix.of(weights())
    floats = made.dequantized()
    assert (made.shape, made.dtype, made.device, len(made)) == (floats.shape, floats.dtype, floats.device, 24)
    assert torch.equal(made.unflatten(0, (4, 6)), floats.unflatten(0, (4, 6)))
    assert torch.equal(torch.ones(2, 24) @ made, torch.ones(2, 24) @ floats)
    assert torch.equal(made.T, floats.T)
    with pytest.raises(AttributeError, match="colour"):
        made.colour  # noqa: B018


def test_copies_and_loaded_weights_are_multiplied_anew(int8_way: str) -> None:
    made, x = Int8Matrix.of(weights()), torch.randn(2, 40)
    before = made.multiply(x, None)
    other = deepcopy(made)
    assert torch.equal(other.multiply(x, None), before)
    other.load_state_dict(Int8Matrix.of(-weights()).state_dict())
    assert torch.equal(other.multiply(x, None), -before) or int8_way == "operator"
    assert torch.allclose(other.multiply(x, None), -before, rtol=1e-3, atol=1e-3 * float(before.abs().max()))
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False).multiply(x, None), before)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_it_is_exported_as_plain_operations() -> None:
    layer = nn.Linear(40, 24)
    made = Int8Matrix.of(layer.weight)
    del layer.weight
    layer.add_module("weight", made)
    layer.requires_grad_(False)
    x = torch.randn(2, 40)
    exported = torch.export.export(layer, (x,)).module()
    assert torch.allclose(exported(x), layer(x), rtol=1e-3, atol=1e-3)
