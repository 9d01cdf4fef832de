"""All pairs, some queries at a time: against the formula written out, and its gradients."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Attention, Lengths, Tokens, TransformerXLPosition, Valid, attend
from zoo.core.backends import dense, dense_training
from zoo.core.backends.dense_training import Blockwise, blocks
from zoo.core.backends.problem import Call
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Full
from zoo.core.scoring.relative_bias import ALiBi, TransformerXL

SCALE = 0.7


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute two queries at a time, so that a row has several blocks, and a last one that is shorter."""
    monkeypatch.setattr(dense_training, "BLOCK", 1)
    monkeypatch.setattr(dense_training, "FEWEST", 2)


def drawn(queries: int = 5, keys: int = 4) -> tuple[Tensor, ...]:
    shapes = (2, 2, queries, 3), (2, 2, keys, 3), (2, 2, keys, 2), (2, 2, queries, 3), (2, queries + keys - 1, 3)
    return tuple(torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)


def by_formula(
    spans: tuple[tuple[int, int], ...],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    p: Tensor | None = None,
    r: Tensor | None = None,
) -> Tensor:
    """Add the product with the vector of each pair's offset, and read what lies in the row's span."""
    scores = q @ k.mT
    i, j = torch.arange(q.shape[2]), torch.arange(k.shape[2])
    if p is not None and r is not None:
        offset = j - i[:, None] + q.shape[2] - 1
        scores = scores + torch.einsum("bhqd,hqkd->bhqk", p, r[:, offset])
    begin, end = torch.tensor(spans).T[..., None]
    shut = ~((j >= begin) & (j < end))[:, None, None]
    return (SCALE * scores).masked_fill(shut, float("-inf")).softmax(-1).nan_to_num() @ v


@pytest.mark.parametrize("spans", [((0, 4), (0, 4)), ((1, 4), (0, 2)), ((2, 3), (0, 0))])
@pytest.mark.parametrize("offsets", [True, False])
def test_the_answer_is_that_of_the_formula_and_so_are_its_gradients(
    spans: tuple[tuple[int, int], ...], offsets: bool
) -> None:
    tensors = drawn()[: 5 if offsets else 3]
    missing: tuple[Any, ...] = () if offsets else (None, None)

    def ours(*given: Tensor) -> Tensor:
        return Blockwise.apply(*given, *missing, spans, SCALE)

    found = ours(*tensors)
    expected = by_formula(spans, *tensors)
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(y.square().sum(), tensors) for y in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


def test_queries_are_parted_evenly_and_rows_without_keys_left_out() -> None:
    parts = list(blocks(5, 2, ((0, 4), (3, 3), (1, 3))))
    assert [(part.row, part.first, part.last, part.begin, part.end) for part in parts] == [
        (0, 0, 2, 0, 4), (0, 2, 4, 0, 4), (0, 4, 5, 0, 4), (2, 0, 2, 1, 3), (2, 2, 4, 1, 3), (2, 4, 5, 1, 3),
    ]  # fmt: skip
    sizes = [2 * part.size * part.keys for part in parts]
    assert [part.at for part in parts] == [sum(sizes[:n]) for n in range(len(parts))]


def gradients(keys: Keys | None, start: int, backend: str = "auto") -> list[Tensor]:
    torch.manual_seed(0)
    q, k, v = (torch.randn(3, n, 2, 4, dtype=torch.float64, requires_grad=True) for n in (5, 7, 7))
    u, v_ = (torch.randn(2, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    r = torch.randn(2, 20, 4, dtype=torch.float64, requires_grad=True)
    y = attend(q, k, v, keys=keys, bias=TransformerXL(u, v_, r, -10), q_start=start, backend=backend)
    return [y, *torch.autograd.grad(y.square().sum(), (q, k, v, u, v_, r))]


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize(
    "keys",
    [
        None,
        Lengths(torch.tensor([7, 3, 0])),
        Valid(torch.tensor([[1] * 7, [0, 0, 1, 1, 1, 0, 0], [0] * 6 + [1]]).bool()),
        Valid(torch.tensor([[1] * 7, [1, 0, 1, 1, 1, 0, 0], [0] * 7]).bool()),
    ],
    ids=["all", "lengths", "spans", "holes"],
)
def test_attention_with_transformer_xls_bias_trains_as_the_reference(
    keys: Keys | None, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []

    class Seen:
        @staticmethod
        def apply(*given: Any) -> Any:
            called.append(1)
            return Blockwise.apply(*given)

    monkeypatch.setattr(dense, "Blockwise", Seen)
    for one, other in zip(gradients(keys, start), gradients(keys, start, "reference"), strict=True):
        torch.testing.assert_close(one, other)
    holes = isinstance(keys, Valid) and not bool(keys.mask[2, 6])
    assert bool(called) is not holes


def test_a_bias_that_is_no_product_is_left_to_others() -> None:
    q, k, v = (torch.randn(1, 3, 2, 4, requires_grad=True).transpose(1, 2) for _ in range(3))
    assert dense.in_blocks(Call(q, k, v, Full(), 0, None, ALiBi(torch.rand(2)), 0.5, 0.0)) is None


@pytest.mark.parametrize("fast", [True, False])
def test_half_precision_trains_as_full_precision(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "fast_bfloat16", lambda: fast)
    torch.manual_seed(0)
    layer = Attention(8, 2, position=TransformerXLPosition(8, 2, 4))
    x = torch.randn(2, 6, 8)
    exact = torch.autograd.grad(layer(Tokens(x)).square().sum(), list(layer.parameters()))
    layer = layer.bfloat16()
    half = torch.autograd.grad(layer(Tokens(x.bfloat16())).square().sum(), list(layer.parameters()))
    for one, other in zip(half, exact, strict=True):
        assert one.dtype is torch.bfloat16
        assert (one.float() - other).norm() <= 0.05 * other.norm() + 0.02
