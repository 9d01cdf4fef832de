"""Attention while vectors come: every pattern that moves along, every position, any pieces, bounded memory."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import (
    Attention,
    Causal,
    Chunk,
    ConfigError,
    Full,
    Globals,
    NormedAttention,
    QuadraticAttention,
    Tokens,
    Window,
)
from zoo.core.layers.position_factory import with_position
from zoo.core.patterns.pattern import Pattern
from zoo.core.streaming.attention_stage import AttentionStream, ready
from zoo.core.streaming.stages import latency

PATTERNS = [
    Window(4, 0),
    Window(0, 0),
    Window(3, 2),
    Window(0, 3),
    Window(2, 1, 3),
    Chunk(3, 1),
    Chunk(4),
    Chunk(4, 2) & Causal(),
    Chunk(4, 1) & Window(3, 2),
    Chunk(3) | Window(4, 1),
    Chunk(4, 2) & Chunk(6, 1),
]
CUTS = [[], [1] * 23, [2, 0, 7, 1, 1, 9]]


def vectors(n: int = 23) -> Tensor:
    return torch.randn(2, n, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def made(kind: type[Attention] = Attention, position: str = "none", **options: Any) -> Any:
    torch.manual_seed(0)
    layer = with_position(lambda dim, heads: kind(dim, heads, **options), position, 6)(8, 2).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return layer


def fed(stage: AttentionStream, x: Tensor, sizes: list[int]) -> Tensor:
    answers, seen = [], 0
    for size in sizes:
        answers.append(stage.push(x[:, seen : seen + size]))
        seen += size
        assert sum(y.shape[1] for y in answers) == stage.ready(seen)
    return torch.cat([*answers, stage.push(x[:, seen:], last=True)], dim=1)


@pytest.fixture(autouse=True)
def _without_gradients() -> Any:
    with torch.no_grad():
        yield


@pytest.mark.parametrize("sizes", CUTS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_pieces_are_answered_as_the_whole(pattern: Pattern, sizes: list[int]) -> None:
    layer, x = made(), vectors()
    torch.testing.assert_close(fed(layer.stream(pattern), x, sizes), layer(Tokens(x, pattern)), atol=1e-12, rtol=0)


@pytest.mark.parametrize("sizes", CUTS[1:])
@pytest.mark.parametrize("pattern", [Window(4, 1), Chunk(3, 1)], ids=str)
@pytest.mark.parametrize("position", ["rotary", "alibi", "relative", "transformer-xl", "shaw"])
def test_every_position_counts_on(position: str, pattern: Pattern, sizes: list[int]) -> None:
    layer, x = made(position=position), vectors()
    torch.testing.assert_close(fed(layer.stream(pattern), x, sizes), layer(Tokens(x, pattern)), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("kind", "options"), [(NormedAttention, {}), (Attention, {"kv_heads": 1, "value_dim": 3})])
def test_other_heads_are_kept_as_they_are(kind: type[Attention], options: dict[str, Any]) -> None:
    layer, x = made(kind, "rotary", **options), vectors()
    y = fed(layer.stream(Window(4, 1)), x, CUTS[2])
    torch.testing.assert_close(y, layer(Tokens(x, Window(4, 1))), atol=1e-12, rtol=0)


def test_the_pattern_of_the_layer_joins_that_of_the_tokens() -> None:
    layer, x = made(pattern=Window(2, 2)), vectors()
    y = fed(layer.stream(Window(9, 1)), x, CUTS[2])
    torch.testing.assert_close(y, layer(Tokens(x, Window(2, 1))), atol=1e-12, rtol=0)
    torch.testing.assert_close(fed(layer.stream(), x, CUTS[2]), layer(Tokens(x)), atol=1e-12, rtol=0)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_no_query_is_answered_before_its_last_key_and_none_long_after(pattern: Pattern) -> None:
    readable = pattern.mask(torch.arange(60)[None], torch.arange(60))[0, 0]
    last = torch.where(readable, torch.arange(60), -1).amax(1)[:48]
    for keys in range(1, 48):
        early = ready(pattern, keys)
        assert bool((last[: max(early, 0)] < keys).all())
        complete = int((last >= keys).int().argmax())
        assert early <= complete <= early + 5


@pytest.mark.parametrize(("pattern", "late"), [(Window(5, 2), 2), (Chunk(4, 3), 3), (Causal() & Chunk(4), 0)], ids=str)
def test_a_chunk_is_answered_when_it_is_complete(pattern: Pattern, late: int) -> None:
    assert latency(made().stream(pattern)) == late


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_memory_does_not_grow(pattern: Pattern) -> None:
    stage, stored = made().stream(pattern), []
    for n in (120, 120, 1_080):
        stage.push(vectors(n)[:, :n])
        stored.append(stage.stored)
    assert stored[0] == stored[1] == stored[2]
    assert stage.k is not None
    assert stage.k.untyped_storage().nbytes() <= 3 * 2 * stage.k.nbytes


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(3) | Full(), Causal() | Window(0, 2)], ids=str)
def test_reading_without_bound_is_refused(pattern: Pattern) -> None:
    with pytest.raises(ConfigError, match=r"without bound.*window=\[640, 0\]"):
        made().stream(pattern)


def test_patterns_of_fixed_places_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"Globals.*names positions"):
        made().stream(Window(3) | Globals((0,)))


def test_an_attention_that_asks_in_its_own_way_is_refused() -> None:
    with pytest.raises(ConfigError, match="QuadraticAttention reads its input whole"):
        QuadraticAttention(8, 9).stream(Window(3))
    assert isinstance(made().stream(Window(3)), AttentionStream)
