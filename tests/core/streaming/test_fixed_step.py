"""Steps of chunks of one size give what a stream gives: the answers of the whole, from first to last."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d

from zoo.core import Attention, Chunk, ConfigError, Encoder, Tokens, Window
from zoo.core.layers.position_factory import with_position
from zoo.core.streaming.fixed_step import StreamingStep
from zoo.core.streaming.stages import Chain, Pointwise, Positioned, Residual, Stream, Windows

N = 8
"""Items of a chunk."""


class Answers(nn.Module):
    def forward(self, tokens: Tokens) -> Tensor:
        return tokens.x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = Answers()


def items(n: int, channels: int = 3) -> Tensor:
    return torch.randn(2, n, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


def stepped(make: Callable[[], Stream], x: Tensor) -> Tensor:
    """Give the answers to all items, the last chunks filled up with what would be seen where it is not masked."""
    total, step = x.shape[1], StreamingStep(Model(), Chain([make()]))
    x = torch.cat([x, torch.full_like(x, 1e3).repeat(1, 1 + 4 * N // total, 1)], 1)
    state, found, seen, end = step.start(x[:, :N]), list[Tensor](), 0, 10**9
    places: list[int] = []
    while not places or places[-1] + 1 < end:
        known = total if seen + N >= total else 10**9
        y, first, last, *state = step(x[:, seen : seen + N], torch.tensor(seen), torch.tensor(known), *state)
        for place, one in enumerate(y.unbind(1), int(first)):
            if 0 <= place < int(last):
                found.append(one)
                places.append(place)
        seen, end = seen + N, int(last)
    assert places == list(range(end))
    return torch.stack(found, 1)


def windows(size: int, step: int, padding: tuple[int, int], channels: int = 3) -> Windows:
    weight = torch.randn(channels, channels, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    bias = torch.ones(channels, dtype=torch.float64)
    return Windows(lambda x: conv1d(x.mT, weight, bias, stride=step).mT, (channels,), size, step, padding)


def encoder(pattern: Any, position: str) -> Encoder:
    torch.manual_seed(0)
    made = with_position(Attention, position, 8)
    return Encoder(8, 2, 2, 16, attention=lambda dim, heads: made(dim, heads)).double().eval()


STAGES: dict[str, Callable[[], Stream]] = {
    "causal": lambda: windows(3, 1, (2, 0)),
    "ahead": lambda: windows(4, 1, (1, 2)),
    "short": lambda: windows(2, 1, (0, 1)),
    "halved": lambda: windows(3, 2, (2, 0)),
    "halved, ahead": lambda: windows(3, 2, (1, 1)),
    "two": lambda: Chain([windows(5, 1, (2, 2)), Pointwise(torch.tanh), windows(3, 2, (1, 1)), windows(4, 2, (1, 2))]),
    "residual": lambda: Chain([Residual(windows(3, 1, (1, 1))), Residual(Chain([windows(4, 1, (2, 1))]), 0.5)]),
    "positions": lambda: Chain([Residual(windows(3, 1, (1, 1))), Positioned(lambda x, first: x + placed(x, first))]),
}


def placed(x: Tensor, first: Any) -> Tensor:
    return (first + torch.arange(x.shape[1])).double()[:, None].sin()


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 5, 8, 21, 64])
@pytest.mark.parametrize("name", STAGES)
def test_steps_give_the_answers_of_the_stream(name: str, length: int) -> None:
    x = items(length)
    torch.testing.assert_close(stepped(STAGES[name], x), STAGES[name]().push(x, last=True))


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 13, 40])
@pytest.mark.parametrize("position", ["none", "rotary", "transformer-xl", "alibi"])
@pytest.mark.parametrize("pattern", [Window(5, 0), Window(3, 2), Chunk(4, 1), Chunk(2, 2) & Window(3, 1)])
def test_attention_gives_the_answers_of_the_stream(pattern: Any, position: str, length: int) -> None:
    model, x = encoder(pattern, position), items(length, 8)
    torch.testing.assert_close(stepped(lambda: model.stream(pattern), x), model.stream(pattern).push(x, last=True))


def test_what_has_no_such_step_is_named() -> None:
    class Other(Stream):
        def push(self, x: Tensor, last: bool = False) -> Tensor:
            return x

    with pytest.raises(ConfigError, match="Other has no streaming step of fixed size"):
        stepped(Other, items(8))
    with pytest.raises(ConfigError, match="chunks of 8 items do not fit steps of 3: take a multiple"):
        stepped(lambda: windows(3, 3, (0, 0)), items(8))
    with pytest.raises(ConfigError, match="chunks of 8 vectors, 0 late, do not fit Chunk"):
        stepped(lambda: encoder(None, "none").stream(Chunk(3, 1)), items(8, 8))
