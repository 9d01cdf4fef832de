"""A mechanism written against `AttentionLayer` alone serves every family, or says itself why not."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Attention, Causal, ConfigError, Decoder, Lengths, QuadraticAttention, Tokens, Window
from zoo.core.cache.state import State
from zoo.core.layers.protocol import AttentionLayer, WeighsPairs
from zoo.core.models.inspection import attention_maps
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.streaming.state_stage import StateStage
from zoo.viz.attention_maps import maps_of

ROOT = Path(__file__).parents[3]


class AverageState(State):
    """The sum of the tokens so far, each with its weight."""

    def crop(self, length: int | Tensor) -> None:
        raise ConfigError(f"crop({length}): a moving average cannot forget a token")


class MovingAverage(nn.Module):
    """Give each token the exponential moving average of those up to it, projected (arXiv:2209.10655)."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads, self.pattern = 1, Causal()
        self.decay = nn.Parameter(torch.zeros(()))
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: State | None = None) -> Tensor:
        summed = self.raw(tokens, context) @ torch.cat([tokens.x, torch.ones_like(tokens.x[..., :1])], -1)
        if state is not None:
            (b, n, _), valid = tokens.x.shape, tokens.valid()
            before = state.tensors.get("sum", torch.zeros_like(summed[:, 0]))
            age = torch.arange(1, n + 1).expand(b, n) if valid is None else valid.cumsum(1)
            summed = summed + self.decay.sigmoid() ** age[..., None] * before[:, None]
            state.tensors["sum"] = summed[:, -1]
            state.count(n, valid, tokens.position, tokens.x.device)
        return self.out(summed[..., :-1] / summed[..., -1:].clamp(min=1e-9))

    def raw(self, tokens: Tokens, context: Tokens | None) -> Tensor:
        if context is not None or tokens.pattern not in (None, Causal()):
            read = "another set" if context is not None else f"its set by {tokens.pattern}"
            raise ConfigError(f"a moving average reads its own past, so it cannot read {read}")
        valid = tokens.valid()
        valid = torch.ones(tokens.x.shape[:2], dtype=torch.bool) if valid is None else valid
        number = valid.cumsum(1)
        lag = number[:, :, None] - number[:, None]
        readable = valid[:, None] & torch.ones_like(lag).tril().bool()
        return (self.decay.sigmoid() ** lag.clamp(min=0)).masked_fill(~readable, 0)

    def weights(self, tokens: Tokens, context: Tokens | None = None, state: State | None = None) -> Tensor:
        raw = self.raw(tokens, context)
        return (raw / raw.sum(-1, keepdim=True).clamp(min=1e-9))[:, None]

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        return AverageState(batch)

    def stream(self, pattern: Pattern | None = None) -> StateStage:
        return StateStage(self, Causal())

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        raise ConfigError(f"{wanted} acts on queries and keys, and a moving average has none")

    def packs(self) -> bool:
        return False


@pytest.mark.parametrize("layer", [Attention(8, 2), QuadraticAttention(8, 9), MovingAverage(8, 2)])
def test_the_layers_of_the_house_and_a_foreign_one_follow_the_protocol(layer: nn.Module) -> None:
    assert isinstance(layer, AttentionLayer)
    assert not isinstance(nn.Linear(8, 8), AttentionLayer)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vit-micro", {"pool": "mean"}),
        ("bert-tiny", {}),
        ("speech-tiny", {"position": "none", "window": "full"}),
        ("decoder-tiny", {"position": "none"}),
    ],
)
def test_it_runs_learns_and_is_drawn_in_every_family(name: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = zoo.create(name, attention=MovingAverage, **options).eval()
    layers = [part for part in model.modules() if isinstance(part, MovingAverage)]
    inputs = zoo.example(name)
    model(*inputs).square().sum().backward()
    assert layers
    assert all(layer.decay.grad is not None and layer.decay.grad.isfinite() for layer in layers)
    maps = maps_of(model, inputs)
    assert len(maps) == len(layers)
    for each in maps:
        torch.testing.assert_close(each.weights.sum(-1), torch.ones(each.weights.shape[:2]))
        assert not each.weights.triu(1).any()


def test_it_decodes_step_by_step_what_it_gives_at_once() -> None:
    torch.manual_seed(0)
    decoder = Decoder(8, 2, 2, 16, attention=MovingAverage).double().eval()
    x, lengths = torch.randn(2, 6, 8, dtype=torch.float64), torch.tensor([4, 2])
    wanted = [
        decoder(Tokens(torch.cat([x[row : row + 1, :n], x[row : row + 1, 4:]], 1))).x for row, n in ((0, 4), (1, 2))
    ]
    state = decoder.state(2)
    decoder(Tokens(x[:, :4], keys=Lengths(lengths)), state=state)
    state.reorder(torch.tensor([1, 0]))
    last = decoder(Tokens(x[[1, 0], 4:5]), state=state), decoder(Tokens(x[[1, 0], 5:]), state=state)
    for step, each in enumerate(last):
        torch.testing.assert_close(each.x[1, 0], wanted[0][0, 4 + step])
        torch.testing.assert_close(each.x[0, 0], wanted[1][0, 2 + step])
    assert state.lengths.tolist() == [4, 6]
    assert state.stored == 2 * 2 * 9
    with pytest.raises(ConfigError, match=r"crop\(1\): a moving average cannot forget a token"):
        state.crop(1)


def test_it_answers_while_vectors_come() -> None:
    torch.manual_seed(0)
    layer, x = MovingAverage(8, 2).double().eval(), torch.randn(2, 7, 8, dtype=torch.float64)
    stage = layer.stream()
    pieces = [stage.push(piece, last=index == 3) for index, piece in enumerate(x.split([2, 0, 4, 1], 1))]
    torch.testing.assert_close(torch.cat(pieces, 1), layer(Tokens(x)))
    assert stage.stored == 2 * 9


def test_it_is_refused_with_its_own_reason() -> None:
    with pytest.raises(ConfigError, match="position='rotary' acts on queries and keys, and a moving average has none"):
        zoo.create("vit-micro", attention=MovingAverage, position="rotary")
    with pytest.raises(ConfigError, match="with attention=causal the class token, which stands first, reads no patch"):
        zoo.create("vit-micro", attention=MovingAverage, pool="first")
    decoder = Decoder(8, 1, 2, 16, cross=MovingAverage)
    with pytest.raises(ConfigError, match="reads its own past, so it cannot read another set"):
        decoder(Tokens(torch.randn(1, 2, 8)), Tokens(torch.randn(1, 3, 8)))
    with pytest.raises(ConfigError, match=re.escape(f"it cannot read its set by {Window(2)}")):
        MovingAverage(8, 2)(Tokens(torch.randn(1, 2, 8), Window(2)))
    with pytest.raises(ConfigError, match=r"edge_features=.* acts on queries and keys"):
        zoo.create("graph-tiny", attention=MovingAverage)


def test_nothing_outside_the_layers_asks_for_the_class_attention() -> None:
    asked = re.compile(
        r"isinstance\([^)#\n]*\b(Normed|Branched|Quadratic)?Attention\b|hasattr\(\w+, .(qkv|ask|by_edge)"
    )
    found = []
    for folder in ("core", "zoo", "plugins"):
        for path in (ROOT / folder).rglob("*.py"):
            if "core/layers" not in path.as_posix():
                found += [f"{path}: {line.strip()}" for line in path.read_text().splitlines() if asked.search(line)]
    assert not found, "ask the protocol: isinstance(layer, AttentionLayer)"


def test_what_gives_weights_is_drawn_and_an_attribute_of_that_name_is_not() -> None:
    class Drawn(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x

        def weights(self, x: Tensor) -> Tensor:
            return torch.ones(1, 1, len(x), 1)

    class Plain(nn.Identity):
        def __init__(self) -> None:
            super().__init__()
            self.weights = [1.0]

    assert isinstance(Drawn(), WeighsPairs)
    (drawn,) = attention_maps(nn.Sequential(Drawn(), Plain()), torch.zeros(3))
    assert torch.equal(drawn, torch.ones(1, 1, 3, 1))
