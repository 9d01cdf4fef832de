"""The banded backend: windows in chunks equal the formula, and cost what they were planned to."""

import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from zoo.core import Causal, ConfigError, Explicit, Lengths, Valid, Window, attend, plan
from zoo.core.backends.banded import backend as banded
from zoo.core.backends.banded import masks
from zoo.core.backends.banded.layout import Chunks, chunks
from zoo.core.backends.banded.products import LOWEST
from zoo.core.flops import _MISSING as FORMULAS
from zoo.core.patterns.local import Chunk, Neighbourhood
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.patterns.pattern import Pattern
from zoo.core.patterns.sparse import Blocks, Globals
from zoo.core.scoring.bias import Bias
from zoo.core.scoring.relative_bias import ALiBi, RelativeTable, Shaw, TransformerXL
from zoo.testing.strategies import local_patterns, random_cases

BIASES = ("", "table", "alibi", "transformer-xl", "shaw")


def draw(seed: int, batch: int, queries: int, keys: int, repeats: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(batch, queries, 2 * repeats, 4), (batch, keys, 2, 4), (batch, keys, 2, 3)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def make(kind: str, heads: int, lowest: int, highest: int) -> tuple[Bias | None, list[Tensor]]:
    """Make a bias with vectors for just the offsets that occur."""
    offsets = max(0, highest) - lowest + 1
    shapes: dict[str, list[tuple[int, ...]]] = {
        "": [],
        "table": [(heads, 7)],
        "alibi": [(heads,)],
        "shaw": [(1, 5, 4)],
        "transformer-xl": [(heads, 4), (heads, 4), (heads, offsets, 4)],
    }
    x = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes[kind]]
    if kind == "transformer-xl":
        return TransformerXL(x[0], x[1], x[2], lowest), x
    if kind == "table":
        return RelativeTable(x[0], 3), x
    if kind == "alibi":
        return ALiBi(x[0]), x
    return (Shaw(x[0], None, 2) if kind == "shaw" else None), x


def gradients(y: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    loss = (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)).sum()
    found = torch.autograd.grad(loss, tensors, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(tensors, found, strict=True)]


LENGTHS = st.one_of(st.integers(0, 9), st.sampled_from([15, 16, 17, 33, 48, 70]))


@given(
    pattern=local_patterns(),
    batch=st.integers(1, 3),
    queries=LENGTHS,
    keys=st.one_of(st.none(), LENGTHS),
    start=st.sampled_from([0, 0, 1, 5, 20]),
    repeats=st.integers(1, 2),
    padding=st.sampled_from(["all", "valid", "segments"]),
    bias=st.sampled_from(BIASES),
    seed=st.integers(0, 999),
)
@random_cases(40)
def test_values_and_gradients_equal_the_reference(
    pattern: Pattern,
    batch: int,
    queries: int,
    keys: int | None,
    start: int,
    repeats: int,
    padding: str,
    bias: str,
    seed: int,
) -> None:
    keys = queries if keys is None else keys
    torch.manual_seed(seed)
    some = Valid(torch.rand(batch, keys) < 0.6)
    sets = Segments(torch.randint(-1, 3, (batch, keys)), torch.randint(0, 3, (batch, queries)))
    given_keys: Keys | None = {"all": None, "valid": some, "segments": sets}[padding]
    added, learned = make(bias if queries and keys else "", 2 * repeats, -(start + queries - 1), keys - 1 - start)
    answers = []
    for backend in ("reference", "banded"):
        tensors = draw(seed, batch, queries, keys, repeats)
        try:
            y = attend(*tensors, pattern, given_keys, bias=added, q_start=start, backend=backend)  # type: ignore[call-overload]
        except ConfigError:  # a grid of another size, or a window that is everything here
            return
        answers.append([y, *gradients(y, [*tensors, *learned])])
        with torch.no_grad():
            again = attend(*tensors, pattern, given_keys, bias=added, q_start=start, backend=backend)  # type: ignore[call-overload]
        torch.testing.assert_close(again, y, atol=1e-12, rtol=1e-12)
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("keys", [None, Lengths(torch.tensor([40, 31]))], ids=["one row", "two rows"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(
    "pattern", [Window(3, 2), Window(2, 1, 3), Window(3) | Globals((0, 21)), Chunk(4, 1) & Causal()]
)
def test_the_kernel_and_the_products_are_the_same_function(
    monkeypatch: pytest.MonkeyPatch, pattern: Pattern, bias: str, keys: Keys | None
) -> None:
    # the kernel serves accelerators and compiled code with gradients too, the products serve them on a CPU
    added, learned = make(bias, 4, -39, 39)
    answers = []
    for products in (True, False):
        monkeypatch.setattr(banded, "prefers_products", lambda call, shape, products=products: products)
        tensors = draw(0, 1 if keys is None else 2, 40, 40)
        y = attend(*tensors, pattern, keys, bias=added, backend="banded")  # type: ignore[call-overload]
        answers.append([y, *gradients(y, [*tensors, *learned])])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("pattern", [Window(5), Window(2, 0, 3), Chunk(4, 1) | Globals((3,))])
def test_float16_serves_every_bias_as_the_reference_does(pattern: Pattern, bias: str) -> None:
    added, learned = make(bias, 4, -49, 49)
    answers = []
    for backend in ("reference", "banded"):
        tensors = [x.detach().half().requires_grad_() for x in draw(1, 2, 50, 50)]
        y = attend(*tensors, pattern, bias=added, backend=backend)  # type: ignore[call-overload]
        answers.append([y, *gradients(y, [*tensors, *learned])])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=4e-3 * max(1, float(wanted.detach().abs().max())), rtol=4e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_is_close_to_the_reference(dtype: torch.dtype) -> None:
    exact = [x.detach().to(dtype).double().requires_grad_() for x in draw(1, 2, 50, 50)]
    rough = [x.detach().to(dtype).requires_grad_() for x in exact]
    pattern, tolerance = Window(5) | Globals((3,)), 3e-2 if dtype is torch.bfloat16 else 2e-6
    answers = []
    for tensors, backend in ((exact, "reference"), (rough, "banded")):
        y = attend(*tensors, pattern, backend=backend)  # type: ignore[call-overload]
        answers.append([y, *torch.autograd.grad(y.double().square().sum(), tensors)])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got.double(), wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("grad", [True, False])
def test_nan_in_the_padding_does_not_leak(grad: bool) -> None:
    tensors = draw(2, 2, 40, 40)
    hurt = [x.detach().clone() for x in tensors]
    hurt[1][1, 30:], hurt[2][1, 30:] = torch.nan, torch.inf
    hurt = [x.requires_grad_(grad) for x in hurt]
    keys = Lengths(torch.tensor([40, 30]))
    y = attend(*hurt, Window(4), keys, backend="banded")  # type: ignore[call-overload]
    torch.testing.assert_close(y, attend(*tensors, Window(4), keys, backend="reference"))  # type: ignore[call-overload]
    if grad:
        assert all(bool(g.isfinite().all()) for g in gradients(y, hurt))


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("pattern", [Window(4, 0), Window(3, 0, 2), (Window(4) | Globals((0, 9))) & Causal()])
def test_causal_windows_do_not_read_ahead(pattern: Pattern, grad: bool) -> None:
    tensors = [x.detach().requires_grad_(grad) for x in draw(3, 1, 40, 40)]
    before = attend(*tensors, pattern, backend="banded")  # type: ignore[call-overload]
    moved = [x.detach().clone() for x in tensors]
    for x in moved:
        x[:, 23:] = 100 * torch.randn_like(x[:, 23:])
    after = attend(*(x.requires_grad_(grad) for x in moved), pattern, backend="banded")  # type: ignore[call-overload]
    torch.testing.assert_close(after[:, :23], before[:, :23], atol=0, rtol=0)
    assert not torch.allclose(after[:, 23:], before[:, 23:])


@pytest.mark.parametrize("grad", [True, False])
def test_a_query_with_nothing_to_read_gives_zero_with_gradient_zero(grad: bool) -> None:
    q, k, v = (x.detach().requires_grad_(grad) for x in draw(4, 1, 40, 40))
    mask = torch.ones(1, 40, dtype=torch.bool)
    mask[0, 10:20] = False
    y = attend(q, k, v, Window(2), Valid(mask), backend="banded")
    empty = slice(12, 18)
    assert y[:, empty].abs().max() == 0
    assert y[:, 11].abs().max() > 0
    if grad:
        gq, gk, gv = gradients(y, [q, k, v])
        assert gq[:, empty].abs().max() == 0
        assert gk[:, 10:20].abs().max() == gv[:, 10:20].abs().max() == 0


def test_dropout_keeps_the_mean_and_follows_the_seed() -> None:
    q, k, v = (torch.zeros(1, 4000, 1, 2), torch.zeros(1, 4000, 1, 2), torch.ones(1, 4000, 1, 2))
    answers = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        answers.append(attend(q, k, v, Window(3), dropout=0.5, backend="banded"))
    assert torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])
    assert abs(float(answers[0].mean()) - 1) < 0.02
    assert answers[0].std() > 0.2


def test_the_gradient_of_dropout_is_that_of_the_weights_that_were_kept() -> None:
    tensors = [x[:, :, :1] for x in draw(5, 1, 6, 6)]

    def answer(*x: Tensor) -> Tensor:
        torch.manual_seed(0)
        return attend(*x, Window(1) | Globals((4,)), dropout=0.4, backend="banded")  # type: ignore[call-overload]

    assert torch.autograd.gradcheck(answer, tensors)


def test_long_rows_take_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.core.backends.banded.products.BLOCK", 2000)
    added, learned = make("transformer-xl", 4, -99, 99)
    answers = []
    for backend in ("reference", "banded"):
        tensors = draw(6, 2, 100, 100)
        y = attend(*tensors, Window(5), bias=added, backend=backend)  # type: ignore[call-overload]
        answers.append([y, *gradients(y, [*tensors, *learned])])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        (Window(3, 2), {}),  # of several chunks those at both ends of a row share no mask
        (Window(3, 2), {"score": "dot"}),
        (Window(2) | Globals((69,)), {}),
        (Window(2) | Globals((25,)), {"q_start": 20}),
        (Window(2, 1, 3), {"q_start": 5}),
        (Chunk(4, 1) | Chunk(6), {}),  # chunks of the layout begin anywhere in those of six
        (Window(3, 0) & Blocks(1, ((), *((n,) for n in range(69)))), {}),  # only the first query has nothing to read
    ],
    ids=str,
)
def test_a_window_that_has_to_look_where_it_stands_equals_the_reference(
    pattern: Pattern, options: dict[str, Any], grad: bool, batch: int
) -> None:
    answers = []
    for backend in ("reference", "banded"):
        tensors = [x.detach().requires_grad_(grad) for x in draw(7, batch, 70 - options.get("q_start", 0), 70)]
        y = attend(*tensors, pattern, **options, backend=backend)  # type: ignore[call-overload]
        answers.append([y, *(gradients(y, tensors) if grad else ())])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("start", [4, 5])
def test_a_dilated_window_behind_a_start_reads_its_own_sets_only(start: int) -> None:
    sets = Segments(torch.arange(40)[None] // 9, (torch.arange(20)[None] + start) // 9)
    answers = []
    for backend in ("reference", "banded"):
        tensors = draw(10, 1, 20, 40)
        y = attend(*tensors, Window(2, 1, 3), sets, q_start=start, backend=backend)  # type: ignore[call-overload]
        answers.append([y, *gradients(y, tensors)])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


def test_each_block_of_a_long_row_drops_its_own_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.core.backends.banded.products.BLOCK", 1)
    tensors = draw(8, 1, 40, 40)
    y = attend(*tensors, Window(2), dropout=0.5, backend="banded")  # type: ignore[call-overload]
    g = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    torch.testing.assert_close((tensors[2] * gradients(y, tensors)[2]).sum(), (y * g).sum())  # y is linear in v


def test_queries_with_nothing_to_read_are_found_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.core.backends.banded.products.BLOCK", 1)
    mask = (torch.arange(40) < 20) | (torch.arange(40) >= 30)
    answers = []
    for backend in ("reference", "banded"):
        tensors = draw(9, 1, 40, 40)
        y = attend(*tensors, Window(2), Valid(mask[None]), backend=backend)  # type: ignore[call-overload]
        answers.append([y, *gradients(y, tensors)])
    for wanted, got in zip(*answers, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


PROBLEMS: list[dict[str, Any]] = [
    {"pattern": Window(3, 2), "queries": 70},
    {"pattern": Window(3, 2), "queries": 70, "padded": True},
    {"pattern": Window(2, 2, 3), "queries": 70},
    {"pattern": Window(2, 2, 3), "queries": 7, "keys": 50, "start": 20},
    {"pattern": Window(2, 2, 3), "queries": 8, "keys": 50, "start": 20},
    {"pattern": Window(2, 2, 3), "queries": 151},
    {"pattern": Chunk(4, 1), "queries": 50},
    {"pattern": Window(2) | Globals((0, 5)), "queries": 50},
    {"pattern": Neighbourhood(7, 8, 1, 1), "queries": 57},
    {"pattern": Window(3), "queries": 40, "dropout": 0.1},
    {"pattern": Window(30), "queries": 5, "keys": 60, "start": 10},
]


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: str(problem["pattern"]))
def test_the_planned_operations_are_those_counted(problem: dict[str, Any], grad: bool, batch: int) -> None:
    queries, start = problem["queries"], problem.get("start", 0)
    keys = problem.get("keys", queries)
    tensors = [x.detach().float().requires_grad_(grad) for x in draw(0, batch, queries, keys)]
    padding = Lengths(torch.full((batch,), keys)) if problem.get("padded") else None
    shapes = {"keys": keys, "heads": 4, "kv_heads": 2, "head_dim": 4, "value_dim": 3, "batch": batch, "grad": grad}
    chosen = plan(**(problem | shapes), backend="banded")
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with counter:
        attend(
            *tensors, problem["pattern"], padding, q_start=start, dropout=problem.get("dropout", 0.0), backend="banded"
        )  # type: ignore[call-overload]
    assert chosen.flops == counter.get_total_flops()


def test_a_window_costs_in_proportion_to_the_length() -> None:
    costs = [plan(Window(16), queries=n, keys=n, heads=4, head_dim=64, backend="banded").flops for n in (8000, 16000)]
    assert costs[1] <= 2.01 * costs[0]


def test_a_dilated_window_costs_no_more_than_a_plain_one() -> None:
    plain, dilated = (
        plan(Window(16, 16, d), queries=9000, keys=9000, heads=1, head_dim=8, backend="banded").flops for d in (1, 9)
    )
    assert dilated < 1.2 * plain  # a gap of a chunk behind each of the nine rows


def test_a_chunk_reads_no_more_than_its_pairs() -> None:
    laid = chunks(Chunk(64, 2), 640, 640, 0, "cpu")
    assert (laid.size, laid.width) == (64, 192)


def test_chunks_begin_where_those_of_the_pattern_do() -> None:
    laid = chunks(Chunk(64, 1) & Causal(), 100, 200, 70, "cpu")
    assert (laid.lead, laid.size, laid.width) == (6, 64, 128)


@given(
    size=st.integers(1, 4),
    left=st.integers(0, 5),
    right=st.integers(0, 5),
    lead=st.integers(0, 3),
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    start=st.integers(0, 9),
    rows=st.integers(1, 3),
)
def test_each_chunk_sees_the_keys_of_its_window(
    size: int, left: int, right: int, lead: int, queries: int, keys: int, start: int, rows: int
) -> None:
    laid = Chunks(size, left, right, min(lead, start), queries, keys, start)
    numbers = torch.arange(1, rows * keys + 1).view(rows, keys, 1)
    windows = laid.windows(laid.slots(numbers))[..., 0]
    for row in range(rows):
        for chunk in range(laid.count):
            first = start - laid.lead + chunk * size - left
            wanted = [row * keys + j + 1 if 0 <= j < keys else 0 for j in range(first, first + laid.width)]
            assert windows[row * (laid.count + laid.gap) + chunk].tolist() == wanted


@pytest.mark.parametrize("rows", [1, 2])
def test_split_and_join_give_back_what_was_there(rows: int) -> None:
    laid = Chunks(4, 3, 2, 1, 9, 9, 1)
    x = torch.randn(rows, 3, 9, 2)
    assert torch.equal(laid.join(laid.split(x), rows, 3), x)


def test_a_plain_window_keeps_one_mask_for_all_chunks_but_the_ends() -> None:
    laid = chunks(Window(3), 1000, 1000, 0, "cpu")
    assert laid.count == 63
    assert len(masks._of_pattern(Window(3), laid, (), torch.device("cpu")).masks) == 3


def test_masks_remembered_in_inference_mode_serve_training() -> None:
    size = random.Random(0).randint(40, 60)  # a length that no other test has asked for
    tensors = draw(0, 1, size, size)
    with torch.inference_mode():
        attend(*tensors, Window(7, 3), backend="banded")  # type: ignore[call-overload]
    y = attend(*tensors, Window(7, 3), backend="banded")  # type: ignore[call-overload]
    assert gradients(y, tensors)[0].abs().max() > 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"pattern": Causal()}, r"banded' cannot serve Causal\(\): no window bounds the pattern"),
        ({"bias": torch.zeros(1, 1, 20, 20)}, "it knows biases of the offset, and this one is dense"),
        ({"return_weights": True}, "it keeps no weights"),
        ({"pattern": Window(2) & Explicit(torch.ones(20, 20, dtype=torch.bool))}, "a pattern without tensors"),
        ({"bias": Shaw(torch.zeros(1, 3, 4), torch.zeros(1, 3, 3), 1)}, "it adds nothing to values"),
    ],
)
def test_what_it_cannot_do_is_refused(change: dict[str, Any], text: str) -> None:
    tensors = [x.detach() for x in draw(0, 2, 20, 20)]
    with pytest.raises(ConfigError, match=text):
        attend(*tensors, **({"pattern": Window(2), "bias": None, "backend": "banded"} | change))  # type: ignore[call-overload]


def test_a_shut_pair_weighs_nothing_in_every_dtype() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert torch.tensor([0.0, LOWEST], dtype=dtype).softmax(0)[1] == 0


def test_long_windows_are_planned_in_bands_and_short_ones_at_once() -> None:
    assert plan(Window(16), queries=4000, keys=4000, heads=4, head_dim=64).backend == "banded"
    assert plan(Window(16), queries=40, keys=40, heads=4, head_dim=64).backend == "dense"
