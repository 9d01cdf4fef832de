"""Tiny models that write, for the tests of generating: random weights, float64, a vocabulary one can enumerate."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Attention, Causal, Decoder, Encoder, Generator, NextToken, TokenEmbed, Tokens
from zoo.core.layers.position_factory import with_position
from zoo.core.ops.int8 import int8_products
from zoo.core.patterns.pattern import Pattern

DIM, HEADS = 8, 2
CAUSAL = Causal()


class Mean(nn.Module):
    """The mean of what comes before, projected: an attention that keeps no state."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens: Tokens, context: Tokens | None = None) -> Tensor:
        count = torch.arange(1, tokens.x.shape[1] + 1, dtype=tokens.x.dtype)
        return self.out(tokens.x.cumsum(1) / count[:, None])


def make_writer(
    *,
    vocab: int = 7,
    encoder: bool = False,
    position: str = "sinusoidal",
    pattern: Pattern = CAUSAL,
    mean: bool = False,
    max_len: int | None = None,
    seed: int = 0,
) -> Any:
    """Make a model that never writes padding or the begin, and ends about as often as it writes any other token."""
    torch.manual_seed(seed)
    attention: Callable[[int, int], nn.Module] = Mean if mean else with_position(Attention, position, 32)
    decoder = Decoder(DIM, 2, HEADS, 12, attention=attention, cross=Attention if encoder else None, pattern=pattern)
    head = NextToken(DIM, vocab, bias=True)
    source = Encoder(DIM, 1, HEADS, 12) if encoder else None
    target = TokenEmbed(vocab, DIM, position=position, max_len=max_len or 32)
    model = Generator(target, decoder, head, encoder=source, max_len=max_len).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.6)
        if model.decoder.blocks[0].cross is not None:
            for block in model.decoder.blocks:
                block.cross.out.weight.mul_(3)  # so that the answer depends on the source
        assert head.bias is not None
        head.bias[:2] = -30.0
    return model


def log_probabilities(model: Any, prompt: list[int], answer: list[int], *source: Any) -> list[float]:
    """Give the log-probability of each token of an answer by teacher forcing, without a state."""
    ids = torch.tensor([prompt + answer])
    with torch.no_grad():
        scores = model(*source, ids[:, :-1]).log_softmax(-1)[0, len(prompt) - 1 :]
    return [float(row[token]) for row, token in zip(scores, answer, strict=True)]


def plain_loop(model: Any, prompt: list[int], max_len: int, *source: Any) -> list[int]:
    """Write the best tokens by reading whole sequences again and again; the end is in the answer."""
    ids = list(prompt)
    with torch.no_grad():
        while len(ids) < len(prompt) + max_len and (len(ids) == len(prompt) or ids[-1] != 2):
            ids.append(int(model(*source, torch.tensor([ids]))[0, -1].argmax()))
    return ids[len(prompt) :]


@pytest.fixture
def writer() -> Callable[..., Any]:
    """Give the maker of models."""
    return make_writer


@pytest.fixture
def told() -> Callable[..., list[float]]:
    """Give what scores an answer."""
    return log_probabilities


@pytest.fixture
def plain() -> Callable[..., list[int]]:
    """Give the loop that is compared with."""
    return plain_loop


@pytest.fixture(params=["operator", "floats"])
def int8_way(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Multiply int8 weights by oneDNN's operator, or by blocks of floats."""
    if request.param == "floats":
        monkeypatch.setattr(int8_products, "works", lambda: False)
    elif not int8_products.works():
        pytest.skip("oneDNN multiplies no bytes on this processor")
    return str(request.param)
