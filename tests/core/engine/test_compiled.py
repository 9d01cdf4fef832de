"""`attend` under `torch.compile`, in processes of their own: it cannot follow the type checks of the tests."""

import subprocess
import sys

import pytest

COMPILED = """
import torch
from zoo.core import *

torch.set_default_dtype(torch.float64)
there = torch.arange(16) % 5 > 0
ids = torch.arange(16)[None].expand(2, -1) // 6
some = torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) < 0.5
table = RelativeTable(torch.randn(2, 9, generator=torch.Generator().manual_seed(0)), 4)
for backend, pattern, keys, options in (
    ("dense", Full(), None, {}),
    ("dense", Causal(), Valid(there.expand(2, -1)), {}),
    ("dense", Explicit(some), None, {}),
    ("dense", Causal(), None, {"bias": table}),
    ("explicit", Causal(), None, {}),
    ("reference", Window(2), None, {}),
    ("banded", Window(2), None, {}),
    ("banded", Window(2, 1, 2), Valid(there.expand(2, -1)), {}),
    ("banded", Window(2) | Globals((0,)), None, {}),
    ("banded", Chunk(4, 1), Segments(ids), {}),
    ("banded", Window(3), None, {"bias": table}),
    ("gathered", Fixed(4, 1), None, {}),
    ("strided", Strided(4), None, {}),
    ("linear", Causal(), None, {"norm": Kernel()}),
):
    results = []
    for compiled in (False, True):
        answer = lambda q, k, v: attend(q, k, v, pattern, keys, backend=backend, **options)
        if compiled:
            torch.compiler.reset()
            answer = torch.compile(answer, fullgraph=True, backend="aot_eager")
        torch.manual_seed(0)
        tensors = [torch.randn(2, 16, 2, 8, requires_grad=True) for _ in range(3)]
        try:
            y = answer(*tensors)
            results.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
        except Exception as error:
            raise SystemExit(f"{backend} {pattern!r} {keys}: {error}")
    torch.testing.assert_close(*results)

torch.compiler.reset()
answer = torch.compile(lambda q, k, v: attend(q, k, v), fullgraph=True, backend="aot_eager")
for n in (40, 96, 200):  # few scores and many: of all lengths it is one program
    tensors = [torch.randn(2, n, 4, 32, dtype=torch.bfloat16) for _ in range(3)]
    for x in tensors:
        torch._dynamo.mark_dynamic(x, 1)
    with torch.no_grad():
        torch.testing.assert_close(answer(*tensors), attend(*tensors), rtol=3e-2, atol=3e-2)
"""


@pytest.mark.slow
def test_answers_and_gradients_are_the_same_compiled_without_a_graph_break() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


LENGTHS = """
import torch
import zoo
from zoo.core import Causal, Window, attend
from zoo.core.scoring.relative_bias import ALiBi

torch.set_default_dtype(torch.float64)
for options in ({}, {"pattern": Causal()}, {"pattern": Window(3)}, {"bias": ALiBi(torch.rand(2))}):
    torch.compiler.reset()
    answer = torch.compile(lambda q: attend(q, q, q, **options), fullgraph=True, backend="aot_eager")
    for n in (16, 20, 33):
        q = torch.randn(2, n, 2, 8, requires_grad=True)
        torch.testing.assert_close(answer(q), attend(q, q, q, **options))
torch.compiler.reset()
model = zoo.create("bert-tiny").eval()
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
for n in (6, 11, 17):
    ids = torch.randint(5, 100, (2, n))
    torch.testing.assert_close(compiled(ids), model(ids))
"""


@pytest.mark.slow
def test_what_is_compiled_once_serves_other_lengths() -> None:
    done = subprocess.run([sys.executable, "-c", LENGTHS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
