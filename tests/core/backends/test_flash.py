"""The flash backend, with a stand-in that follows the documented contract of flash-attn, on a CPU in any precision."""

import importlib.machinery
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import Causal, ConfigError, Full, Globals, Lengths, Segments, Valid, Window, attend
from zoo.core.backends import BACKENDS
from zoo.core.backends.flash import BACKEND, Flash, band
from zoo.core.backends.problem import Call, Problem
from zoo.core.engine.planner import _choose_cached
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import cases


def stand_in(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float, softmax_scale: float, window_size: tuple[int, int]
) -> Tensor:
    """Attention of (b, n, h, d) whose band is aligned to the bottom right, as flash-attn documents it."""
    assert dropout_p == 0
    k, v = (x.repeat_interleave(q.shape[2] // x.shape[2], dim=2) for x in (k, v))
    left, right = window_size
    offset = torch.arange(k.shape[1]) - torch.arange(q.shape[1])[:, None] - (k.shape[1] - q.shape[1])
    mask = (offset >= -left if left >= 0 else offset > -99) & (offset <= right if right >= 0 else offset < 99)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * softmax_scale
    weights = scores.masked_fill(~mask, -1e30).softmax(-1) * mask  # a query with nothing to read gives 0
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def stand_in_for_sets(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    window_size: tuple[int, int],
) -> Tensor:
    """The same for sets of (n, h, d) that stand one behind the other, between borders that are int32."""
    answers = []
    for ends, longest, x in ((cu_seqlens_q, max_seqlen_q, q), (cu_seqlens_k, max_seqlen_k, k)):
        assert ends.dtype == torch.int32
        assert ends[0] == 0
        assert ends[-1] == len(x)
        assert ends.diff().max() == longest
        assert isinstance(longest, int)
    for n in range(len(cu_seqlens_q) - 1):
        of_q, of_k = (slice(int(ends[n]), int(ends[n + 1])) for ends in (cu_seqlens_q, cu_seqlens_k))
        own = (q[None, of_q], k[None, of_k], v[None, of_k])
        answers.append(stand_in(*own, dropout_p, softmax_scale, window_size)[0])
    return torch.cat(answers)


class OnCpu(Flash):
    """Serve on a CPU what would be served on a GPU."""

    def refuses(self, problem: Problem) -> str | None:
        return super().refuses(replace(problem, device="cuda", dtype=torch.bfloat16))


@pytest.fixture
def flash_attn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("flash_attn")
    module.__spec__ = importlib.machinery.ModuleSpec("flash_attn", None)
    module.flash_attn_func = stand_in  # type: ignore[attr-defined]
    module.flash_attn_varlen_func = stand_in_for_sets  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", module)
    monkeypatch.setitem(BACKENDS, "flash", OnCpu())
    _choose_cached.cache_clear()  # a plan is kept for the backends that there are
    yield
    _choose_cached.cache_clear()


PROBLEM = Problem(
    Causal(), batch=2, queries=5, keys=7, heads=2, head_dim=8, dtype=torch.bfloat16, device="cuda", start=2
)


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2, 1), Window(3, 0)])
@pytest.mark.usefixtures("flash_attn", "float64")
def test_it_gives_what_the_reference_gives(pattern: Pattern) -> None:
    q, k, v = torch.randn(2, 5, 2, 8), torch.randn(2, 7, 2, 8), torch.randn(2, 7, 2, 8)
    heads = [x.transpose(1, 2) for x in (q, k, v)]
    call = Call(heads[0], heads[1], heads[2], pattern, 2, None, None, 8**-0.5, 0.0)
    y, weights = BACKEND.run(call)
    assert weights is None
    torch.testing.assert_close(y.transpose(1, 2), attend(q, k, v, pattern, q_start=2, backend="reference"))


@pytest.mark.usefixtures("flash_attn")
def test_it_serves_a_band_on_a_gpu_in_half_precision() -> None:
    assert BACKEND.refuses(PROBLEM) is None
    assert BACKEND.cost(PROBLEM).flops == 2 * 2 * 2 * Causal().pairs(5, 7, 2) * 16


@pytest.mark.usefixtures("flash_attn")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"pattern": Globals((0,))}, "is no band"),
        ({"pattern": Window(1, 1, 2)}, "is no band"),
        ({"device": "cpu"}, "needs half precision on cuda, not torch.bfloat16 on cpu"),
        ({"dtype": torch.float32}, "not torch.float32 on cuda"),
        ({"padded": True}, "knows padding only where everything is read"),
        ({"padded": True, "packed": True, "queries": 7, "start": 0}, "sets that read themselves, each in one piece"),
        ({"padded": True, "packed": True, "together": True}, "from position 0 on"),
        ({"bias": "relative"}, "knows no bias"),
        ({"placed": True}, "no positions of keys"),
        ({"start": 0}, "aligns the last query with the last key"),
        ({"start": None}, "aligns the last query with the last key"),
        ({"value_dim": 4}, "not 8 and 4"),
        ({"weights": True}, "keeps no weights"),
    ],
)
def test_it_refuses_the_rest(change: dict[str, object], text: str) -> None:
    assert text in (BACKEND.refuses(replace(PROBLEM, **change)) or "")  # type: ignore[arg-type]


IDS = torch.tensor([[4, 4, 4, -1, 0, 0, 2, -1], [1, 0, 0, 0, 0, 0, 3, 3], [-1] * 8])


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2, 1), Window(1, 0)])
@pytest.mark.usefixtures("flash_attn")
def test_packed_sets_read_themselves(pattern: Pattern) -> None:
    results = []
    for backend in ("flash", "reference"):
        torch.manual_seed(0)
        q, k, v = (torch.randn(3, 8, h, 4, dtype=torch.float64, requires_grad=True) for h in (4, 2, 2))
        y = attend(q, k, v, pattern, Segments(IDS), backend=backend)
        results.append([y, *torch.autograd.grad(y.square().sum(), (q, k, v))])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("rows", [[[3, 3]], [[-1, -1]], [[-1, 0]], [[0, -1], [-1, 5]]])
@pytest.mark.usefixtures("flash_attn", "float64")
def test_packed_sets_of_one_vector_and_none(rows: list[list[int]]) -> None:
    q, k, v = (torch.randn(len(rows), 2, 2, 4) for _ in range(3))
    keys = Segments(torch.tensor(rows))
    answers = [attend(q, k, v, Causal(), keys, backend=backend) for backend in ("flash", "reference")]
    torch.testing.assert_close(*answers)


@pytest.mark.parametrize("keys", [Lengths(torch.tensor([3, 0])), Valid(torch.tensor([[False, True] * 3, [True] * 6]))])
@pytest.mark.usefixtures("flash_attn", "float64")
def test_padding_is_left_out_where_everything_is_read(keys: Keys) -> None:
    q, k, v = torch.randn(2, 4, 2, 4), torch.randn(2, 6, 1, 4), torch.randn(2, 6, 1, 4)
    answers = [attend(q, k, v, keys=keys, backend=backend) for backend in ("flash", "reference")]
    torch.testing.assert_close(*answers)


@pytest.mark.parametrize(
    ("keys", "together"),
    [
        (Segments(IDS), True),
        (Segments(torch.tensor([[0, 1, 0]])), False),
        (Segments(torch.tensor([[0, -1, 0]])), False),
        (Segments(torch.tensor([[0, 0], [0, 0]])), True),
        (Segments(torch.zeros(1, 0, dtype=torch.long)), True),
        (Segments(torch.tensor([[0, 0]]), queries=torch.tensor([[0, 0]])), True),
        (Segments(torch.tensor([[0, 0]]), queries=torch.tensor([[0, 1]])), False),
    ],
)
def test_sets_in_pieces_are_known(keys: Segments, together: bool) -> None:
    assert keys.contiguous == together


@pytest.mark.usefixtures("flash_attn")
def test_sets_in_pieces_are_refused() -> None:
    q = torch.randn(1, 3, 1, 4)
    with pytest.raises(ConfigError, match=r"'flash' cannot serve .* each in one piece"):
        attend(q, q, q, Causal(), Segments(torch.tensor([[0, 1, 0]])), backend="flash")


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.usefixtures("flash_attn")
def test_1_values_and_gradients_equal_the_float64_reference(data: st.DataObject) -> None:
    """The first law, with the stand-in; test_laws.py asks flash-attn itself, where there is a GPU."""
    case = data.draw(cases("flash"))
    results = []
    for backend in ("flash", "reference"):
        tensors = case.tensors()
        try:
            y = case.attend(tensors, backend=backend)
        except ConfigError as error:
            assume("cannot serve" not in str(error))
            raise
        results.append([y, *torch.autograd.grad(y.square().sum(), tensors, materialize_grads=True)])
    torch.testing.assert_close(*results, atol=1e-11, rtol=1e-9)


def test_without_the_package_it_says_how_to_install_it() -> None:
    if "flash_attn" not in sys.modules:
        assert "pip install" in (BACKEND.refuses(PROBLEM) or "")


def test_bands_are_counted_as_flash_attn_counts_them() -> None:
    assert [band(p) for p in (Full(), Causal(), Window(4, 2))] == [(-1, -1), (-1, 0), (4, 2)]
