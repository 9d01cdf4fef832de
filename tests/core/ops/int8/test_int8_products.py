"""Products by bytes against exact ones, and when they are not used."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from zoo.core.ops.int8 import int8_products

needs_operator = pytest.mark.skipif(not int8_products.works(), reason="oneDNN multiplies no bytes on this processor")


def drawn(rows: int, d: int, e: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, scale, bias = torch.randn(rows, d), torch.rand(e) + 0.5, torch.randn(e)
    return x, torch.randint(-127, 128, (e, d), dtype=torch.int8), scale, bias


def exact(x: Tensor, values: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return x.double() @ values.double().T * scale.double() + bias.double()


@needs_operator
@pytest.mark.parametrize(("rows", "d", "e"), [(1, 64, 48), (1, 3072, 7), (2, 33, 5), (9, 64, 100), (70, 16, 3)])
def test_sixteen_bits_of_a_vector_are_multiplied(rows: int, d: int, e: int) -> None:
    torch.manual_seed(0)
    x, values, scale, bias = drawn(rows, d, e)
    y = int8_products.multiply(x, int8_products.pack(values, scale), bias)
    wanted = exact(x, values, scale, bias)
    step = x.abs().amax(1).double() / int8_products.STEPS  # each number is off by half of it at most
    most = (step[:, None] / 2) * values.double().abs().sum(1) * scale.double()
    assert ((y - wanted).abs() <= most + 1e-5 * wanted.abs().max()).all()
    assert torch.allclose(y.double(), wanted, rtol=0, atol=2e-4 * float(wanted.abs().max()))


@needs_operator
def test_extreme_weights_and_vectors_do_not_saturate() -> None:
    x, values = torch.ones(2, 4096), torch.full((3, 4096), 127, dtype=torch.int8)
    x[1] = -1
    y = int8_products.multiply(x, int8_products.pack(values, torch.ones(3)), None)
    assert torch.allclose(y, torch.tensor([[1.0], [-1.0]]).expand(2, 3) * 127 * 4096, rtol=1e-5)


@needs_operator
def test_an_answer_depends_on_no_other_vector() -> None:
    torch.manual_seed(0)
    x, values, scale, _ = drawn(6, 40, 20)
    packed = int8_products.pack(values, scale)
    x[2] = 1e4
    y = int8_products.multiply(x, packed, None)
    pairs = torch.cat([int8_products.multiply(x[n : n + 2], packed, None) for n in (0, 2, 4)])
    assert torch.equal(y, pairs)
    alone = torch.cat([int8_products.multiply(row[None], packed, None) for row in x])
    assert torch.equal(y, alone)


@needs_operator
def test_zeros_give_the_bias_and_what_is_not_finite_spoils_its_own_vector_only() -> None:
    x, values, scale, bias = drawn(4, 16, 5)
    x[0], x[1, 3], x[2, 0] = 0, torch.nan, torch.inf
    y = int8_products.multiply(x, int8_products.pack(values, scale), bias)
    assert torch.equal(y[0], bias)
    assert not y[1].isfinite().any()
    assert not y[2].isfinite().any()
    assert y[3].isfinite().all()


@needs_operator
@pytest.mark.parametrize("size", [0.0, 1e-40, 1e-20, 1e30])
def test_one_vector_of_any_size_is_multiplied(size: float) -> None:
    torch.manual_seed(0)
    x, values, scale, bias = drawn(1, 16, 5)
    x = x.clamp(-1, 1) * size
    y = int8_products.multiply(x, int8_products.pack(values, scale), bias)
    wanted = exact(x, values, scale, bias)
    assert torch.allclose(y.double(), wanted, rtol=0, atol=1e-4 * float(wanted.abs().max()))


@needs_operator
@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_one_vector_that_is_not_finite_spoils_its_answer(number: float) -> None:
    x, values, scale, bias = drawn(1, 16, 5)
    x[0, 3] = number
    assert not int8_products.multiply(x, int8_products.pack(values, scale), bias).isfinite().any()


@needs_operator
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_answers_have_the_dtype_and_the_shape_of_the_vectors(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, values, scale, bias = drawn(6, 32, 8)
    x = x.to(dtype)
    one = int8_products.multiply(x[:1], int8_products.pack(values, scale), bias.to(dtype))
    assert one.dtype is dtype
    y = int8_products.multiply(x.view(2, 3, 32), int8_products.pack(values, scale), bias.to(dtype))
    assert y.dtype is dtype
    assert y.shape == (2, 3, 8)
    wanted = exact(x, values, scale, bias.to(dtype))
    assert torch.allclose(
        y.view(6, 8).double(), wanted, rtol=2 * torch.finfo(dtype).eps, atol=1e-3 * float(wanted.abs().max())
    )


@needs_operator
def test_only_plain_vectors_without_gradient_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    x, values, _, bias = drawn(2, 16, 5)
    assert int8_products.serves(x, values, bias)
    assert not int8_products.serves(x.double(), values, bias)
    assert not int8_products.serves(x.to("meta"), values, bias)
    assert not int8_products.serves(x[:0], values, bias)
    assert not int8_products.serves(x.requires_grad_(), values, bias)
    with torch.no_grad():
        assert int8_products.serves(x, values, bias)
        with torch.autocast("cpu"):
            assert not int8_products.serves(x, values, bias)
        monkeypatch.setattr(torch._C, "_get_mkldnn_enabled", lambda: False)
        assert not int8_products.serves(x, values, bias)


DEFAULTS = """
import torch
torch.set_default_dtype(torch.{dtype})
torch.set_default_device("{device}")
from zoo.core import Int8Matrix
from zoo.core.ops.int8 import int8_products
one = torch.ones(4, 768, dtype=torch.float32, device="cpu")
made = Int8Matrix.of(one)
assert torch.allclose(made.multiply(one[:1], None), 768 * one[:1, :4], rtol=1e-4)
assert torch.allclose(made.multiply(one, one[0, :4]), 768 * one[:, :4] + 1, rtol=1e-4)
print(int8_products.works())
"""


@pytest.mark.parametrize(
    ("device", "dtype"), [("meta", "float64"), pytest.param("cpu", "float64", marks=pytest.mark.slow)]
)
def test_products_are_the_same_whatever_the_defaults_are_at_import(device: str, dtype: str) -> None:
    program = [sys.executable, "-c", DEFAULTS.format(device=device, dtype=dtype)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(int8_products.works()), done.stderr


def test_a_processor_without_sums_of_bytes_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "x86_64", "avx2": True})
    assert not int8_products._right.__wrapped__()


def test_an_operator_that_is_wrong_or_missing_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object) -> Tensor:
        raise RuntimeError("no such operator")

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_vnni": True})
    for found in (lambda *args: torch.zeros(3, 33), missing):
        monkeypatch.setattr(int8_products, "multiply", found)
        assert not int8_products._right.__wrapped__()
