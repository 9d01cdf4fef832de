"""The flex backend: what it hands to FlexAttention gives the reference's answers; compiled on a GPU."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from zoo.core import Causal, Explicit, Window, attend
from zoo.core.backends.flex import BACKEND
from zoo.core.backends.problem import Problem

ON_CPU = """
import torch
from zoo.core import Causal, Explicit, Full, Globals, Lengths, Segments, Window, attend
from zoo.core.backends.flex import BACKEND
from zoo.core.backends.problem import Call

torch.manual_seed(0)
q, k, v = torch.randn(2, 5, 4, 16), torch.randn(2, 7, 2, 16), torch.randn(2, 7, 2, 16)
valid = torch.tensor([[True] * 7, [True, False] * 3 + [False]])
ids = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 2]])
for pattern in (Full(), Causal(), Window(2, 1), Window(1) | Globals((0,)), Explicit(torch.rand(7, 7) < 0.5)):
    for keys in (None, Lengths(torch.tensor([7, 3])), Segments(ids, ids[:, 2:])):
        there = None if keys is None else keys.valid(2, 7, q.device)
        packed = (ids[:, 2:], ids) if isinstance(keys, Segments) else None
        heads = (x.transpose(1, 2) for x in (q, k, v))
        call = Call(*heads, pattern, 2, there, None, 0.25, 0.0, segments=packed)
        with torch.no_grad():
            y = BACKEND.run(call)[0].transpose(1, 2)
        wanted = attend(q, k, v, pattern, keys, q_start=2, backend="reference")
        torch.testing.assert_close(y, wanted, atol=2e-5, rtol=2e-5)
"""

KEPT = """
import gc
import weakref
import torch
from torch.nn.attention import flex_attention
from zoo.core import Explicit, Lengths, Segments, Window
from zoo.core.backends.flex import BACKEND, KEPT, _cached
from zoo.core.backends.problem import Call

made, make = [], flex_attention.create_block_mask
flex_attention.create_block_mask = lambda *args, **named: made.append(args) or make(*args, **named)
q, k = torch.randn(2, 4, 5, 16), torch.randn(2, 4, 7, 16)

def makes(pattern, start=2, q=q, valid=None):
    before = len(made)
    with torch.no_grad():
        BACKEND.run(Call(q, k, k, pattern, start, valid, None, 0.25, 0.0))
    return len(made) - before

with torch.inference_mode():
    assert makes(Window(2)) == 1
assert makes(Window(2)) == 0  # a pattern of the same value, another batch or more heads need no other
assert makes(Window(2), q=q[:, :, :5].expand(2, 4, 5, 16)) == 0
assert not _cached(Window(2), 2, 5, 7, q.device).kv_indices.is_inference()  # training may keep it
assert makes(Window(3)) == makes(Window(2), start=1) == makes(Window(2), q=q[:, :, :4]) == 1
valid = torch.ones(2, 7, dtype=torch.bool)
assert makes(Window(2), valid=valid) == makes(Window(2), valid=valid) == 1  # which may have changed
mask = torch.ones(7, 7, dtype=torch.bool)
gone = weakref.ref(mask)
assert makes(Explicit(mask)) == makes(Explicit(mask)) == 1
made.clear()
del mask
gc.collect()
assert gone() is None
for left in range(KEPT + 9):
    makes(Window(left))
assert _cached.cache_info().currsize == KEPT
"""


@pytest.mark.slow
def test_it_gives_what_the_reference_gives() -> None:
    # in a process of its own, since FlexAttention cannot follow the type checks of the tests
    done = subprocess.run([sys.executable, "-c", ON_CPU], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_masks_of_tiles_are_made_once_for_each_value_of_a_pattern() -> None:
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
def test_on_a_gpu_it_is_compiled_and_has_gradients() -> None:
    q, k, v = (torch.randn(2, 100, 2, 32, device="cuda", requires_grad=True) for _ in range(3))
    results = []
    for backend in ("flex", "reference"):
        y = attend(q, k, v, Window(5, 2), backend=backend)
        results.append([y, *torch.autograd.grad(y.square().sum(), (q, k, v))])
    torch.testing.assert_close(*results, atol=1e-3, rtol=1e-3)


PROBLEM = Problem(Causal(), batch=2, queries=500, keys=500, heads=2, head_dim=32, device="cuda", grad=True)


def test_it_serves_patterns_on_a_gpu() -> None:
    assert BACKEND.refuses(PROBLEM) is None
    assert BACKEND.cost(replace(PROBLEM, pattern=Window(4))).flops == 2 * 2 * 2 * 2 * Window(4).pairs(500, 500) * 64


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"device": "cpu"}, "serves GPUs, not cpu"),
        ({"pattern": Explicit(torch.ones(2, 3, 3, dtype=torch.bool))}, "differs by row or head"),
        ({"dropout": 0.5}, "has no dropout"),
        ({"start": None}, "not the same for all rows"),
        ({"head_dim": 8}, "at least 16"),
        ({"dtype": torch.float64}, "torch.float64"),
        ({"weights": True}, "keeps no weights"),
    ],
)
def test_it_refuses_the_rest(change: dict[str, object], text: str) -> None:
    assert text in (BACKEND.refuses(replace(PROBLEM, **change)) or "")  # type: ignore[arg-type]
