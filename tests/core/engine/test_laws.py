"""The laws of attention, over random patterns, keys, lengths, dtypes and biases, on every backend.

Law 5 (step by step = all at once) is in test_state.py and backends/test_linear.py, law 11 (convolution is attention) in
test_conv.py, law 12 (RNN, ODE, REINFORCE, branches) in test_norm.py, test_floater.py and test_weighted.py, law 2
for whole models in the conformance kit. A GPU is held to the same where there is one, and backends that serve nothing
else in the precisions that they have.
"""

import importlib.util
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from zoo.bench.speed.memory import peak_bytes
from zoo.core import Causal, Chunk, ConfigError, Edges, Explicit, Full, General, Kernel, Valid, Window, plan
from zoo.core.backends import BACKENDS
from zoo.core.engine import tracing
from zoo.core.engine.dispatch import attend
from zoo.core.flops import _MISSING as FORMULAS
from zoo.core.ops.bfloat16 import fast_bfloat16
from zoo.core.patterns.pattern import And, Pattern
from zoo.core.scoring.normalizers import Norm
from zoo.testing.strategies import Case, cases, local_patterns, needing, patterns, random_cases

TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 6e-3, torch.bfloat16: 4e-2}
PRECISIONS = {"flex": [torch.float32, torch.bfloat16], "flash": [torch.float16, torch.bfloat16]}
"""Of backends that do not serve every one."""
PRODUCTS = ("scaled_dot", "dot")
few = random_cases(8)


def precisions(backend: str) -> list[torch.dtype]:
    """Give those in which a backend computes, the best first."""
    return PRECISIONS.get(backend, [torch.float64, torch.float32, torch.float16, torch.bfloat16])


def tensors_of(case: Case, backend: str, device: str) -> list[Tensor]:
    """Draw a case as well as a backend computes."""
    return case.tensors(precisions(backend)[0], device)


def backends(*left_out: str) -> list[Any]:
    """Name all but some, each with the devices that it serves."""
    return [pytest.param(*pair, marks=marks_of(*pair)) for pair in PAIRS if pair[0] not in left_out]


PAIRS = [
    (backend, device)
    for backend in BACKENDS
    for device in ("cpu", "cuda")
    if device == "cuda" or backend not in PRECISIONS
]


def marks_of(backend: str, device: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.gpu] if device == "cuda" else []
    if backend == "flash" and importlib.util.find_spec("flash_attn") is None:
        marks.append(pytest.mark.skip("flash needs the package flash-attn"))
    return marks


def assert_close(got: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    """Compare up to a tolerance in double precision, and to what is usual in a lesser one."""
    for one, other in zip(*((x if isinstance(x, list) else [x]) for x in (got, wanted)), strict=True):
        limit = tolerance if one.dtype is torch.float64 else TOLERANCE[one.dtype]
        scale = max(1.0, float(other.detach().abs().max())) if other.numel() else 1.0
        torch.testing.assert_close(one.double(), other.double(), atol=limit * scale, rtol=limit)


def answer(case: Case, tensors: list[Tensor], backend: str) -> Tensor:
    """Compute on a backend; a case that it refuses is no case."""
    try:
        return case.attend(tensors, backend=backend)
    except ConfigError as error:
        assume("cannot serve" not in str(error))
        raise


def with_gradients(y: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    """Give an answer and the gradients of those tensors that need one, on the CPU."""
    tensors = [x for x in tensors if x.requires_grad]
    loss = (y.double() * torch.linspace(-1, 1, y.numel(), dtype=torch.float64, device=y.device).view_as(y)).sum()
    if not loss.requires_grad:  # nothing that needs a gradient was used
        return [x.cpu() for x in (y, *map(torch.zeros_like, tensors))]
    return [x.cpu() for x in (y, *torch.autograd.grad(loss, tensors, materialize_grads=True))]


@pytest.mark.parametrize(
    ("backend", "device", "dtype"),
    [pytest.param(*pair, dtype, marks=marks_of(*pair)) for pair in PAIRS for dtype in precisions(pair[0])],
)
@given(data=st.data())
@few
def test_1_values_and_gradients_equal_the_float64_reference(
    backend: str, device: str, dtype: torch.dtype, data: st.DataObject
) -> None:
    """Of whichever inputs need gradients."""
    case = data.draw(cases(backend).flatmap(needing))
    tensors, exact = case.tensors(dtype, device), case.tensors()
    got = with_gradients(answer(case, tensors, backend), tensors)
    wanted = with_gradients(case.attend(exact, backend="reference"), exact)
    assert_close(got, wanted, TOLERANCE[torch.float64])


LOWER = [torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize(
    ("backend", "device", "dtype"),
    [
        pytest.param(*pair, dtype, marks=marks_of(*pair))
        for pair in PAIRS
        if pair[0] not in (*PRECISIONS, "linear")
        for dtype in LOWER
    ],
)
@given(data=st.data(), factor=st.sampled_from([1.0, 2.0, 4.0, 8.0]))
@few
def test_1_rounding_errors_are_no_larger_than_those_of_pytorchs_kernel(
    backend: str, device: str, dtype: torch.dtype, data: st.DataObject, factor: float
) -> None:
    """In the same precision, on these inputs and on some that round to them, and for large ones, too."""
    case = replace(data.draw(cases(backend)), factor=factor)
    assume(case.queries and case.length and case.score in (*PRODUCTS, "general"))
    assume(case.bias not in ("shaw", "edge-values"))  # these add to values
    tensors, exact = case.tensors(dtype, device), case.tensors()
    got = with_gradients(answer(case, tensors, backend), tensors)
    wanted = with_gradients(case.attend(exact, backend="reference"), exact)
    alike = [tensors, *([x.to(device).detach().requires_grad_() for x in nudged(exact, dtype, n)] for n in range(4))]
    kernels = [by_kernel(case, moved) for moved in alike]
    between = rounding(case, tensors)
    for mine, true, *others in zip(got, wanted, *kernels, strict=True):
        last = torch.finfo(dtype).eps * max(1.0, largest(true))
        assert largest(mine - true) <= 4 * max(largest(x - true) for x in others) + 8 * (last + between)


@given(case=cases("linear"), factor=st.sampled_from([1.0, 2.0, 4.0, 8.0]))
@few
def test_1_linear_attention_of_large_inputs_is_as_precise(device: torch.device, case: Case, factor: float) -> None:
    """Features of negative numbers are small, and weights are their shares."""
    case = replace(case, factor=factor)
    tensors, exact = case.tensors(torch.float32, device), case.tensors()
    got = with_gradients(answer(case, tensors, "linear"), tensors)
    assert_close(got, with_gradients(case.attend(exact, backend="reference"), exact))


def nudged(exact: list[Tensor], dtype: torch.dtype, seed: int) -> list[Tensor]:
    """Move each number by about one unit in its last place."""
    generator = torch.Generator().manual_seed(seed)
    by = [1 + torch.finfo(dtype).eps * (torch.rand(x.shape, generator=generator) * 2 - 1).double() for x in exact]
    return [(x.detach() * y).to(dtype).requires_grad_() for x, y in zip(exact, by, strict=True)]


def rounding(case: Case, tensors: list[Tensor]) -> float:
    """Say how far rounding in float32 may move a gradient, in which large numbers cancel each other out."""
    q, k, v, *_ = tensors
    _, score = case.added(tensors)
    size = max(
        1.0, largest(k), largest(q), largest(score.query(q.transpose(1, 2))) if isinstance(score, General) else 0
    )
    between = torch.finfo(torch.float32).eps * size**2 * max(1.0, largest(v))
    if q.dtype is torch.bfloat16 and fast_bfloat16():  # scores are rounded to it, see `dense.prefers_products`
        between *= 2**16 * size**2
    return between


def by_kernel(case: Case, tensors: list[Tensor]) -> list[Tensor]:
    """Give the answer and the gradients of PyTorch's kernel."""
    q, k, v = (x.transpose(1, 2) for x in tensors[:3])
    bias, score = case.added(tensors)
    q = q @ score.w if isinstance(score, General) else q
    scale = q.shape[3] ** -0.5 if score == "scaled_dot" else 1.0
    mask = case.mask().to(q.device)
    if bias is not None:
        keys = (torch.arange(case.length)[None] if case.positions is None else case.positions).to(q.device)
        places = torch.arange(case.start, case.start + case.queries, device=q.device)[None]
        added = bias.scores(q, places, keys, scale).expand(mask.shape)
        q, mask = bias.query(q), added.masked_fill(~mask, -torch.inf)
    y = scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True).transpose(1, 2)
    return with_gradients(y, tensors)


def largest(x: Tensor) -> float:
    return float(x.detach().abs().max()) if x.numel() else 0.0


@pytest.mark.parametrize(("backend", "device"), backends(*PRECISIONS))
@given(data=st.data(), way=st.sampled_from(["grad", "backward", "hvp", "grad of grad", "jvp of grad"]))
@few
def test_1_second_derivatives_are_right_or_refused(backend: str, device: str, data: st.DataObject, way: str) -> None:
    """On every way to them, by whichever inputs."""
    case = data.draw(cases(backend).flatmap(needing))
    tensors, exact = case.tensors(device=device), case.tensors()
    answer(case, tensors, backend)
    try:
        got = second_derivatives(case, tensors, backend, way)
    except ConfigError as error:
        if 'backend="reference"' in str(error):
            return
        raise
    assert_close([x.cpu() for x in got], second_derivatives(case, exact, "reference", "grad"), 1e-9)


def second_derivatives(case: Case, tensors: list[Tensor], backend: str, way: str) -> list[Tensor]:
    """Give the product of the Hessian of an answer with ones, by those tensors that need gradients."""
    needed = [x for x in tensors if x.requires_grad]
    fixed = tuple(x.detach() for x in needed)
    ones = tuple(map(torch.ones_like, needed))
    every = tuple(range(len(needed)))

    def loss(*free: Tensor) -> Tensor:
        given = iter(free)
        y = case.attend([next(given) if x.requires_grad else x for x in tensors], backend=backend)
        places = torch.linspace(-1, 1, y.numel(), dtype=y.dtype, device=y.device).view_as(y)
        return (y * places).sum() + sum(x.square().sum() for x in free)  # which depends on all

    def slope(*free: Tensor) -> Tensor:
        return torch.stack([x.sum() for x in torch.func.grad(loss, every)(*free)]).sum()

    if way == "hvp":
        return list(torch.autograd.functional.hvp(loss, fixed, ones)[1])
    if way == "grad of grad":
        return list(torch.func.grad(slope, every)(*fixed))
    if way == "jvp of grad":
        return list(torch.func.jvp(torch.func.grad(loss, every), fixed, ones)[1])
    once = torch.stack([x.sum() for x in torch.autograd.grad(loss(*needed), needed, create_graph=True)]).sum()
    if way == "grad":
        return list(torch.autograd.grad(once, needed))
    once.backward()
    return [torch.zeros_like(x) if x.grad is None else x.grad for x in needed]


@pytest.mark.parametrize(("backend", "device"), backends())
@given(data=st.data())
@few
def test_1_a_query_with_nothing_to_read_gives_zero_with_gradient_zero(
    backend: str, device: str, data: st.DataObject
) -> None:
    """Whether pattern, padding, or a bias of -inf leaves it none; the weights are 0, too."""
    case = data.draw(cases(backend))
    assume(case.bias in ("", "dense-holes"))
    tensors = tensors_of(case, backend, device)
    y, of_query, *_ = with_gradients(answer(case, tensors, backend), tensors)
    reads_nothing = ~case.mask().any(-1).transpose(1, 2)
    assert not y[reads_nothing].any()
    assert not of_query[reads_nothing].any()
    _, weights = case.attend(tensors, return_weights=True)
    assert not weights.transpose(1, 2)[reads_nothing.to(device)].any()


@pytest.mark.parametrize(("backend", "device"), backends("reference", "gathered", "strided"))
@given(data=st.data(), before=st.integers(1, 12))
@few
def test_1_queries_before_position_0_equal_the_reference(
    backend: str, device: str, data: st.DataObject, before: int
) -> None:
    """But for backends that refuse them."""
    case = replace(data.draw(cases(backend)), start=-before)
    assume("Explicit" not in repr(case.pattern))
    tensors, exact = tensors_of(case, backend, device), case.tensors()
    got = with_gradients(answer(case, tensors, backend), tensors)
    wanted = with_gradients(case.attend(exact, backend="reference"), exact)
    assert_close(got, wanted, TOLERANCE[torch.float64])


@pytest.mark.parametrize(("backend", "device"), backends())
@given(data=st.data())
@few
def test_2_nan_in_the_padding_reaches_neither_answer_nor_gradient(
    backend: str, device: str, data: st.DataObject
) -> None:
    case = data.draw(cases(backend))
    assume(case.keys is not None and case.length)
    assert case.keys is not None
    missing = ~case.keys.valid(case.batch, case.length, torch.device("cpu"))
    tensors = tensors_of(case, backend, device)
    wanted = with_gradients(answer(case, tensors, backend), tensors)
    for x in tensors[1:3]:
        x.data[missing.to(x.device)] = torch.nan
    got = with_gradients(answer(case, tensors, backend), tensors)
    assert_close(got, wanted)


@pytest.mark.parametrize(("backend", "device"), backends())
@given(data=st.data(), t=st.integers(0, 9))
@few
def test_3_causal_answers_do_not_move_with_what_comes_later(
    backend: str, device: str, data: st.DataObject, t: int
) -> None:
    case = data.draw(cases(backend))
    if isinstance(case.pattern, Edges):
        backward = case.pattern.index[:, case.pattern.index[0] <= case.pattern.index[1]]
        case = replace(case, pattern=Edges(backward), bias="")
    elif backend == "linear":
        case = replace(case, pattern=Causal())
    elif case.pattern.cover().right != 0 or case.pattern.cover().queries:
        case = replace(case, pattern=case.pattern & Causal())
    assume(case.positions is None)
    tensors = tensors_of(case, backend, device)
    before = answer(case, tensors, backend)
    assume("dense" not in case.bias)
    for x, first in zip(tensors[:3], (t - case.start, t, t), strict=True):
        x.data[:, max(first, 0) :] += 1
    after = answer(case, tensors, backend)
    still = max(t - case.start, 0)
    assert_close(before[:, :still], after[:, :still], 1e-13)


@pytest.mark.parametrize(("backend", "device"), backends())
@given(data=st.data())
@few
def test_4_a_row_does_not_depend_on_its_batch_mates(backend: str, device: str, data: st.DataObject) -> None:
    case = data.draw(cases(backend))
    tensors = tensors_of(case, backend, device)
    together = answer(case, tensors, backend)
    for row in range(case.batch):
        own = [x[row : row + 1] for x in tensors[:3]]
        assert_close(answer(alone(case, row), [*own, *tensors[3:]], backend), together[row : row + 1])


def alone(case: Case, row: int, **changes: Any) -> Case:
    """Give the case of one row."""
    keys = None if case.keys is None else case.keys.row(row)
    places = None if case.positions is None else case.positions[row : row + 1]
    return replace(case, batch=1, keys=keys, positions=places, **changes)


@pytest.mark.parametrize(("backend", "device"), backends("edges", "scatter", "strided"))
@given(data=st.data())
@few
def test_4_rows_may_start_at_different_positions(backend: str, device: str, data: st.DataObject) -> None:
    case = data.draw(cases(backend))
    assume(case.batch > 1 and case.queries and "dense" not in case.bias)
    tensors = tensors_of(case, backend, device)
    starts = [case.start, data.draw(st.integers(0, 4))]
    grid = case.pattern.by_value and "Neighbourhood" in repr(case.pattern)
    assume(not grid and not isinstance(case.pattern, Edges | And) and "Explicit" not in repr(case.pattern))
    together = answer_from(case, tensors, backend, torch.tensor(starts))
    for row, start in enumerate(starts):
        own = [x[row : row + 1] for x in tensors[:3]]
        one = alone(case, row, start=start)
        assert_close(answer(one, [*own, *tensors[3:]], backend), together[row : row + 1], 1e-7)


@pytest.mark.parametrize("backend", ["edges", "scatter"])
def test_4_rows_may_start_at_different_places_of_a_graph(backend: str, device: torch.device) -> None:
    index = (torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) < 0.5).nonzero().T
    q, k, v = Case(Full(), None, 2, 2, 6, 0, 3).tensors(device=device)
    starts = torch.tensor([1, 4])
    answers = [attend(q, k, v, Edges(index), q_start=starts, backend=name) for name in (backend, "reference")]
    torch.testing.assert_close(*answers)


def answer_from(case: Case, tensors: list[Tensor], backend: str, starts: Tensor) -> Tensor:
    try:
        return case.attend(tensors, backend=backend, q_start=starts)
    except ConfigError as error:
        assume("cannot serve" not in str(error))
        raise


@pytest.mark.parametrize("backend", ["reference", "explicit", "dense", "linear"])
@given(n=st.integers(0, 9), seed=st.integers(0, 999), padded=st.booleans())
@few
def test_6_full_attention_is_permutation_equivariant(
    backend: str, device: torch.device, n: int, seed: int, padded: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=generator)
    valid = torch.rand(2, n, generator=generator) < 0.6
    keys = (Valid(valid), Valid(valid[:, order])) if padded else (None, None)
    norm = Kernel() if backend == "linear" else "softmax"
    case = Case(Full(), keys[0], 2, n, n, 0, seed, norm=norm)
    tensors = case.tensors(device=device)
    moved, straight = [x[:, order] for x in tensors], answer(case, tensors, backend)
    torch.testing.assert_close(
        answer(replace(case, keys=keys[1]), moved, backend), straight[:, order], atol=1e-12, rtol=1e-12
    )


@pytest.mark.parametrize("backend", ["edges", "scatter", "reference", "dense", "explicit"])
@given(n=st.integers(1, 9), seed=st.integers(0, 999))
@few
def test_6_a_relabelled_graph_gives_relabelled_answers(backend: str, device: torch.device, n: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    index = (torch.rand(n, n, generator=generator) < 0.4).nonzero().T
    order = torch.randperm(n, generator=generator)
    relabelled = order.argsort()[index]
    case = Case(Edges(index), None, 2, n, n, 0, seed)
    tensors = case.tensors(device=device)
    moved, straight = [x[:, order] for x in tensors], answer(case, tensors, backend)
    torch.testing.assert_close(
        answer(replace(case, pattern=Edges(relabelled)), moved, backend), straight[:, order], atol=1e-12, rtol=1e-12
    )


@given(n=st.integers(1, 9), reach=st.integers(0, 9), seed=st.integers(0, 999))
@few
def test_7_patterns_that_mean_the_same_give_the_same(device: torch.device, n: int, reach: int, seed: int) -> None:
    complete = Edges(torch.ones(n, n).nonzero().T)
    tensors = Case(Full(), None, 2, n, n, 0, seed).tensors(device=device)
    for one, other in (
        (Window(n, n), Full()),
        (Window(n, 0), Causal()),
        (complete, Full()),
        (Chunk(1, reach), Window(reach, 0)),
    ):
        answers = [Case(p, None, 2, n, n, 0, seed).attend(tensors) for p in (one, other)]
        torch.testing.assert_close(*answers, atol=1e-12, rtol=1e-12)
    case = Case(Full(), None, 2, n, n, 0, seed)
    whole = case.attend(tensors, backend="reference")
    torch.testing.assert_close(replace(case, pattern=complete).attend(tensors, backend="edges"), whole)
    chunk = Case(Chunk(1, reach), None, 2, n + 9, n + 9, 0, seed)
    longer = chunk.tensors(device=device)
    by_mask = replace(
        chunk, pattern=Explicit(Chunk(1, reach).mask(torch.arange(n + 9)[None], torch.arange(n + 9))[0, 0])
    )
    if reach < n + 8:
        torch.testing.assert_close(chunk.attend(longer, backend="banded"), by_mask.attend(longer, backend="dense"))


@pytest.mark.parametrize(("backend", "device"), backends("edges", "scatter", *PRECISIONS))
@given(data=st.data())
@few
def test_8_the_plan_counts_what_is_computed(backend: str, device: str, data: st.DataObject) -> None:
    case = data.draw(cases(backend))
    assume(not case.bias and case.score in PRODUCTS and case.queries and case.length)
    planned: list[int] = []
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with torch.no_grad(), tracing.watch(lambda plan, problem: planned.append(plan.flops)), counter:
        answer(case, case.tensors(torch.float32, device), backend)
    assert counter.get_total_flops() == sum(planned)


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        (Window(16), {}),
        (Window(4, 0, 8), {}),
        (Chunk(16, 2), {}),
        (Causal(), {"norm": Kernel()}),
        (Full(), {"norm": Kernel()}),
    ],
)
def test_8_twice_the_length_costs_twice(pattern: object, options: dict[str, object]) -> None:
    plans = [
        plan(pattern, queries=n, keys=n, heads=4, head_dim=64, **options)  # type: ignore[arg-type]
        for n in (8192, 16384)
    ]
    assert plans[1].flops <= 2.1 * plans[0].flops
    assert plans[1].bytes <= 2.1 * plans[0].bytes


@pytest.mark.parametrize(
    ("pattern", "norm"),
    [(Window(16), "softmax"), (Window(4, 0, 8), "softmax"), (Chunk(16, 2), "softmax"), (Causal(), Kernel())],
)
@pytest.mark.parametrize("train", [False, True])
def test_8_twice_the_length_takes_twice_the_memory(pattern: Pattern, norm: Norm, train: bool) -> None:
    def used(n: int) -> int:
        tensors = [torch.randn(1, n, 2, 16, requires_grad=train) for _ in range(3)]

        def job() -> None:
            y = attend(tensors[0], tensors[1], tensors[2], pattern, norm=norm)
            if train:
                torch.autograd.grad(y.sum(), tensors)

        job()
        return peak_bytes(job)

    assert used(4096) <= 2.1 * used(2048)


@pytest.mark.parametrize(("backend", "device"), backends())
@given(data=st.data())
@few
def test_9_weights_and_gradients_change_no_number(backend: str, device: str, data: st.DataObject) -> None:
    case = data.draw(cases(backend))
    tensors = tensors_of(case, backend, device)
    y = answer(case, tensors, backend)
    with torch.no_grad():
        assert_close(answer(case, tensors, backend), y)
    with_weights, _ = case.attend(tensors, return_weights=True)
    assert_close(with_weights, y, 1e-9)


@given(case=cases())
@few
def test_10_rows_of_weights_sum_to_one_or_to_zero(device: torch.device, case: Case) -> None:
    for backend in ("reference", "explicit"):
        _, weights = case.attend(case.tensors(device=device), return_weights=True, backend=backend)
        taken_out = case.bias == "edges-holes"  # whose rows may sum to 0
        sums = weights.sum(-1).cpu()
        torch.testing.assert_close(sums, sums.round() if taken_out else case.mask().any(-1).double())


@given(pattern=st.one_of(patterns(), local_patterns()), q=st.integers(0, 9), k=st.integers(0, 9))
@few
def test_causal_joined_with_anything_stays_causal(pattern: object, q: int, k: int) -> None:
    joined = And(pattern, Causal())  # type: ignore[arg-type]
    assert not joined.mask(torch.arange(q)[None], torch.arange(k)).triu(1).any()
