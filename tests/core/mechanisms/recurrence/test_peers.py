"""The recurrences agree with the plain PyTorch forms of flash-linear-attention and of linear-attention-transformer.

Neither is a dependency: `uv pip install --no-deps flash-linear-attention fla-core linear-attention-transformer
linformer product-key-memory axial-positional-embedding` runs what is skipped otherwise. fla computes in float32, and
multiplies queries by 1 / sqrt(d), which the norm of heads cancels here.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Causal, Steps, Tokens, chunked, parallel, recurrent
from zoo.core.mechanisms.linear_attention import linear_attention
from zoo.core.mechanisms.recurrence.delta import delta, gated_delta
from zoo.core.mechanisms.recurrence.gated_linear import gla
from zoo.core.mechanisms.recurrence.retention import retention
from zoo.core.mechanisms.recurrence.state_space import ssd
from zoo.core.scoring.normalizers import elu_features

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # fla warns of a missing GPU, peers of old names
    pytest.mark.usefixtures("on_device"),
]
N, D = 128, 4
MAKE = {"retention": retention, "gla": gla, "ssd": ssd, "delta": delta, "gated-delta": gated_delta}


def naive(name: str) -> Any:
    return pytest.importorskip(f"fla.ops.{name}.naive")


def steps_of(name: str) -> Steps:
    """Give what a layer hands to its recurrence, (batch, heads, length, channels)."""
    torch.manual_seed(0)
    layer: Any = MAKE[name]()(3 * D, 3)
    with torch.no_grad():
        return layer._steps(Tokens(torch.randn(2, N, 3 * D)), None, None)


def agree(steps: Steps, theirs: Tensor) -> None:
    """Compare all three forms with an answer (batch, heads, length, channels)."""
    wanted = theirs * D**0.5
    for form in (lambda x: chunked(x)[0], parallel, lambda x: recurrent(x)[0]):
        torch.testing.assert_close(form(steps), wanted, atol=1e-5, rtol=1e-5)


def last(x: Tensor | None) -> Tensor:
    """Swap heads and length, as most of fla has them."""
    assert x is not None
    return x.transpose(1, 2)


def test_retention() -> None:
    steps = steps_of("retention")
    agree(steps, naive("retention").naive_retention(*steps[:3]))


@pytest.mark.parametrize("form", ["chunk", "recurrent", "parallel"])
def test_ssd_which_it_calls_simple_gla(form: str) -> None:
    steps = steps_of("ssd")
    found = getattr(naive("simple_gla"), f"naive_{form}_simple_gla")
    agree(steps, last(found(*map(last, steps[:3]), last(steps.decay)[..., 0])[0]))


def test_gla() -> None:
    steps = steps_of("gla")
    agree(steps, last(naive("gla").naive_recurrent_gla(*map(last, steps[:4]))[0]))


@pytest.mark.parametrize("form", ["recurrence", "chunkwise", "parallel"])
def test_delta(form: str) -> None:
    steps = steps_of("delta")
    assert steps.rate is not None
    agree(steps, getattr(naive("delta_rule"), f"delta_rule_{form}")(*steps[:3], steps.rate[..., 0])[0])


@pytest.mark.parametrize("form", ["recurrent", "chunk"])
def test_gated_delta(form: str) -> None:
    steps = steps_of("gated-delta")
    found = getattr(naive("gated_delta_rule"), f"naive_{form}_gated_delta_rule")
    decay, rate = (last(x)[..., 0] for x in (steps.decay, steps.rate))
    agree(steps, last(found(*map(last, steps[:3]), g=decay, beta=rate)[0]))


def of_linear() -> tuple[Any, Tensor, tuple[Tensor, ...]]:
    """Give a layer, tokens, and their queries, keys and values."""
    torch.manual_seed(0)
    layer = linear_attention()(3 * D, 3).eval()
    torch.nn.init.eye_(layer.out.weight)
    torch.nn.init.zeros_(layer.out.bias)
    x = torch.randn(2, N, 3 * D)
    return layer, x, layer.project(Tokens(x), None)


@pytest.mark.parametrize("form", ["recurrent", "chunk"])
@torch.no_grad()
def test_linear_attention(form: str) -> None:
    layer, x, (q, k, v) = of_linear()
    found = getattr(naive("linear_attn"), f"naive_{form}_linear_attn")
    theirs = found(elu_features(q), elu_features(k), v, normalize=True)
    theirs = theirs[0] if form == "recurrent" else theirs
    torch.testing.assert_close(layer(Tokens(x, Causal())), theirs.flatten(2), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_linear_attention_transformer() -> None:
    """Its features are softmax(q) and exp(k). Buckets of more than one place of it read none of their own bucket."""
    peer = pytest.importorskip("linear_attention_transformer.linear_attention_transformer")
    _, _, parts = of_linear()
    q, k, v = (x.transpose(1, 2) for x in parts)
    theirs = peer.causal_linear_attn(q, k, v, bucket_size=1, eps=1e-12)
    sums = chunked(Steps(q.softmax(-1), k.exp(), torch.cat([v, torch.ones_like(v[..., :1])], -1)))[0]
    torch.testing.assert_close(sums[..., :-1] / sums[..., -1:], theirs, atol=1e-5, rtol=1e-5)
    assert not peer.causal_linear_attn(q, k, v, bucket_size=64)[:, :, :64].any()
