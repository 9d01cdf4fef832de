"""Positions by offset: against loops over the papers' formulas and against Hugging Face, and the law of shifts."""

from collections.abc import Callable

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from zoo.core import (
    ALiBiPosition,
    Attention,
    Causal,
    ConfigError,
    Lengths,
    Rotary,
    ShawPosition,
    TablePosition,
    Tokens,
    TransformerXLPosition,
    Window,
    left_padded,
)
from zoo.core.ops import products
from zoo.core.positions import relative
from zoo.core.positions.absolute import sinusoid
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.positions.relative import alibi_slopes
from zoo.core.scoring.relative_bias import Relative

DIM, HEADS, SIZE = 12, 3, 4
MAKES: list[Callable[[], AttentionPosition]] = [
    lambda: Rotary(SIZE),
    lambda: ALiBiPosition(HEADS),
    lambda: TablePosition(HEADS, 3, 2),
    lambda: TransformerXLPosition(DIM, HEADS, SIZE),
    lambda: ShawPosition(SIZE, 2),
]
IDS = ["rotary", "alibi", "table", "transformer-xl", "shaw"]


def layer_with(position: AttentionPosition) -> Attention:
    torch.manual_seed(0)
    layer = Attention(DIM, HEADS, position=position).double().eval()
    with torch.no_grad():
        for parameter in position.parameters():
            parameter.normal_()
    return layer


def by_loops(layer: Attention, x: Tensor, score: Callable[..., Tensor], value: Callable[..., Tensor]) -> Tensor:
    """Attention pair by pair: `score(q, k, head, i, j)` before the root of d, `value(v, i, j)`."""
    q, k, v = layer.project(Tokens(x), None)
    y = torch.zeros_like(q)
    for h in range(HEADS):
        for i in range(x.shape[1]):
            scores = torch.stack([score(q[0, i, h], k[0, j, h], h, i, j) for j in range(x.shape[1])])
            weights = (scores / SIZE**0.5).softmax(0)
            y[0, i, h] = sum(w * value(v[0, j, h], i, j) for j, w in enumerate(weights))
    return layer.out(y.flatten(2))


def test_transformer_xl_equals_the_papers_four_terms() -> None:
    position = TransformerXLPosition(DIM, HEADS, SIZE)
    layer, x = layer_with(position), torch.randn(1, 5, DIM, dtype=torch.float64)

    def score(q: Tensor, k: Tensor, h: int, i: int, j: int) -> Tensor:
        wave = sinusoid(torch.tensor([i - j]), DIM, torch.float64)  # R of i - j, arXiv:1901.02860 sec. 3.3
        r = (wave @ position.project.weight.T).view(HEADS, SIZE)[h]
        return q @ k + q @ r + position.u[h] @ k + position.v[h] @ r

    torch.testing.assert_close(layer(Tokens(x)), by_loops(layer, x, score, lambda v, i, j: v))


def test_shaw_equals_the_papers_formula_with_clipping() -> None:
    position = ShawPosition(SIZE, 2, 1)
    layer, x = layer_with(position), torch.randn(1, 6, DIM, dtype=torch.float64)

    def clipped(i: int, j: int) -> int:
        return max(-2, min(1, j - i)) + 2

    answer = by_loops(
        layer,
        x,
        lambda q, k, h, i, j: q @ (k + position.of_keys[0, clipped(i, j)]),
        lambda v, i, j: v + position.of_values[0, clipped(i, j)],
    )
    torch.testing.assert_close(layer(Tokens(x)), answer)


def test_a_table_adds_its_number_after_scaling_and_its_ends_beyond() -> None:
    position = TablePosition(HEADS, 2, 1)
    layer, x = layer_with(position), torch.randn(1, 6, DIM, dtype=torch.float64)

    def score(q: Tensor, k: Tensor, h: int, i: int, j: int) -> Tensor:
        return q @ k + SIZE**0.5 * position.table[h, max(-2, min(1, j - i)) + 2]

    torch.testing.assert_close(layer(Tokens(x)), by_loops(layer, x, score, lambda v, i, j: v))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 16, 20])
def test_slopes_are_those_of_bloom(num_heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 5), num_heads, torch.float32)  # slope times the key's position
    torch.testing.assert_close(torch.tensor(alibi_slopes(num_heads)), theirs[:, 0, 1], atol=1e-7, rtol=1e-6)


def test_causal_attention_with_slopes_equals_blooms_bias_by_position_of_the_key() -> None:
    layer, x = layer_with(ALiBiPosition(HEADS)), torch.randn(2, 5, DIM, dtype=torch.float64)
    q, k, v = (part.transpose(1, 2) for part in layer.project(Tokens(x), None))
    theirs = build_alibi_tensor(torch.ones(2, 5), HEADS, torch.float64).view(2, HEADS, 1, 5)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    scores = (q @ k.mT / SIZE**0.5 + theirs).masked_fill(later, float("-inf"))
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(layer(Tokens(x, pattern=Causal())), layer.out(mixed), atol=1e-6, rtol=1e-6)


def test_slopes_stay_exact_in_bfloat16() -> None:
    slopes = ALiBiPosition(6).bfloat16().bias().slopes
    torch.testing.assert_close(slopes, torch.tensor(alibi_slopes(6)), atol=0, rtol=0)


@pytest.mark.parametrize("make", MAKES, ids=IDS)
@pytest.mark.parametrize("shift", [1, 1000])
def test_the_answer_is_the_same_when_all_positions_are_shifted(
    make: Callable[[], AttentionPosition], shift: int
) -> None:
    layer, x = layer_with(make()), torch.randn(2, 5, DIM, dtype=torch.float64)
    for pattern in (None, Causal(), Window(2, 1)):
        here = layer(Tokens(x, pattern))
        shifted = layer(Tokens(x, pattern, position=torch.arange(5)[None] + shift))
        torch.testing.assert_close(shifted, here, atol=1e-9, rtol=0)
        shifted = torch.arange(5)[None] + shift
        across = layer(Tokens(x, position=shifted), Tokens(x, pattern, position=shifted))
        torch.testing.assert_close(across, here, atol=1e-9, rtol=0)


@pytest.mark.parametrize("make", MAKES, ids=IDS)
def test_the_order_of_the_vectors_matters(make: Callable[[], AttentionPosition]) -> None:
    layer, x = layer_with(make()), torch.randn(1, 5, DIM, dtype=torch.float64)
    order = torch.tensor([4, 2, 0, 1, 3])
    assert not torch.allclose(layer(Tokens(x[:, order])), layer(Tokens(x))[:, order], atol=1e-3)


@pytest.mark.parametrize("make", MAKES, ids=IDS)
def test_padding_on_either_side_changes_nothing(make: Callable[[], AttentionPosition]) -> None:
    layer, x = layer_with(make()), torch.randn(2, 5, DIM, dtype=torch.float64)
    alone = layer(Tokens(x[1:, :3], pattern=Causal()))
    behind = layer(Tokens(x, pattern=Causal(), keys=Lengths(torch.tensor([5, 3]))))
    torch.testing.assert_close(behind[1:, :3], alone)
    in_front = layer(left_padded(x.roll(2, dims=1), torch.tensor([5, 3]), Causal()))
    torch.testing.assert_close(in_front[1:, 2:], alone)


@pytest.mark.parametrize("make", MAKES, ids=IDS)
def test_every_parameter_gets_a_gradient(make: Callable[[], AttentionPosition]) -> None:
    layer = layer_with(make())
    layer(Tokens(torch.randn(2, 5, DIM, dtype=torch.float64))).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


@pytest.mark.parametrize("make", MAKES, ids=IDS)
def test_bfloat16_and_autocast_give_the_same_to_their_precision(make: Callable[[], AttentionPosition]) -> None:
    layer, x = layer_with(make()).float(), torch.randn(2, 5, DIM)

    def gradients(y: Tensor) -> list[Tensor]:
        return [g.float() for g in torch.autograd.grad(y.float().sum(), list(layer.parameters()))]

    exact = layer(Tokens(x))
    wanted = gradients(exact)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(Tokens(x))
    torch.testing.assert_close(y.float(), exact, atol=0.1, rtol=0.1)
    torch.testing.assert_close(gradients(y), wanted, atol=0.2, rtol=0.1)
    half = layer.bfloat16()(Tokens(x.bfloat16()))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, atol=0.1, rtol=0.1)


def test_transformer_xl_projects_once_for_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        sizes.append(len(x))
        return products.multiply(x, weight, bias)

    monkeypatch.setattr(relative, "multiply", counted)
    layer_with(TransformerXLPosition(DIM, HEADS, SIZE))(Tokens(torch.randn(3, 6, DIM, dtype=torch.float64)))
    assert sizes == [2 * 6 - 1]


def test_offsets_asked_for_block_by_block_are_those_asked_for_at_once() -> None:
    position = layer_with(TransformerXLPosition(DIM, HEADS, SIZE)).position
    assert isinstance(position, TransformerXLPosition)
    q = torch.randn(1, HEADS, 2, SIZE, dtype=torch.float64)
    whole = position.bias().band(q, -20, 9, 1.0)
    pieces = position.bias()
    for lowest, highest in ((0, 9), (-3, 6), (-20, -11), (-8, 1)):
        part = pieces.band(q, lowest, highest, 1.0)
        torch.testing.assert_close(part, whole[..., lowest + 20 : highest + 21])
    kept = pieces.projected(-5, 2)[1]
    assert pieces.projected(-20, 9)[1] is kept


def test_a_reach_or_heads_below_their_least_are_refused() -> None:
    with pytest.raises(ConfigError, match="left=-1, right=3: offsets reach 0 or more"):
        TablePosition(2, -1, 3)
    with pytest.raises(ConfigError, match="num_heads=0: slopes are for at least one head"):
        ALiBiPosition(0)


def test_a_band_that_is_a_view_is_read_where_it_lies() -> None:
    class Listed(Relative):
        def band(
            self, q: Float[Tensor, "*b h q d"], lowest: int, highest: int, scale: float
        ) -> Float[Tensor, "*#b h #q o"]:
            return torch.arange(100.0)[None, None, None, 50 + lowest : 51 + highest]

    for queries in (1, 3):
        q = torch.randn(1, 1, queries, 2)
        i, j = torch.arange(2, 2 + queries)[None], torch.arange(6)[None]
        torch.testing.assert_close(Listed().on_line(q, 6, 2, 1.0), Listed().scores(q, i, j, 1.0))
