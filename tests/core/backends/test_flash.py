"""The flash backend, with a stand-in that follows the documented contract of flash-attn."""

import importlib.machinery
import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import Tensor

from zoo.core import Causal, Full, Globals, Window, attend
from zoo.core.backends.flash import BACKEND, band
from zoo.core.backends.problem import Call, Problem
from zoo.core.pattern import Pattern


def stand_in(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float, softmax_scale: float, window_size: tuple[int, int]
) -> Tensor:
    """Attention of (b, n, h, d) whose band is aligned to the bottom right, as flash-attn documents it."""
    left, right = window_size
    offset = torch.arange(k.shape[1]) - torch.arange(q.shape[1])[:, None] - (k.shape[1] - q.shape[1])
    mask = (offset >= -left if left >= 0 else offset > -99) & (offset <= right if right >= 0 else offset < 99)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * softmax_scale
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(~mask, -torch.inf).softmax(-1), v)


@pytest.fixture
def flash_attn(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("flash_attn")
    module.__spec__ = importlib.machinery.ModuleSpec("flash_attn", None)
    module.flash_attn_func = stand_in  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", module)


PROBLEM = Problem(Causal(), 2, 5, 7, 2, 8, 8, torch.bfloat16, "cuda", grad=False, start=2)


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2, 1), Window(3, 0)])
@pytest.mark.usefixtures("flash_attn")
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
        ({"padded": True}, "knows no padding"),
        ({"start": 0}, "aligns the last query with the last key"),
        ({"start": None}, "aligns the last query with the last key"),
        ({"value_dim": 4}, "not 8 and 4"),
        ({"weights": True}, "keeps no weights"),
    ],
)
def test_it_refuses_the_rest(change: dict[str, object], text: str) -> None:
    assert text in (BACKEND.refuses(replace(PROBLEM, **change)) or "")  # type: ignore[arg-type]


def test_without_the_package_it_says_how_to_install_it() -> None:
    if "flash_attn" not in sys.modules:
        assert "pip install" in (BACKEND.refuses(PROBLEM) or "")


def test_bands_are_counted_as_flash_attn_counts_them() -> None:
    assert [band(p) for p in (Full(), Causal(), Window(4, 2))] == [(-1, -1), (-1, 0), (4, 2)]
