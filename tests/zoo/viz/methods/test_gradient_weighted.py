"""Gradient-weighted attention against weights in the graph of autograd, and rules in plain loops."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Attention, Causal, Decoder, Encoder, Generator, NextToken, TokenEmbed, Tokens
from zoo.core.layers.heads import head
from zoo.core.mechanisms.gated_cross import GatedAttention, insert_cross
from zoo.core.mechanisms.recurrence.delta import DeltaAttention
from zoo.core.models.model import Model
from zoo.errors import ConfigError
from zoo.viz.methods.gradient_weighted import Score, gradient_weighted, largest_scores, scores_of

pytestmark = pytest.mark.usefixtures("float64")

IDS, TARGET = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 4]])
Table = list[list[float]]


class Vectors(nn.Module):
    def forward(self, x: Tensor) -> Tokens:
        return Tokens(x)


def encoder(attention: Callable[..., nn.Module] = Attention) -> Model:
    return Model(Vectors(), Encoder(8, 3, 2, 16, attention=attention), head("classify", 8, 3, pool="mean")).eval()


def writer(gate: float | None = None) -> Generator:
    """Make an encoder-decoder; with a gate, its cross-attention is inserted and as far open."""
    embed = TokenEmbed(7, 8)
    decoder = Decoder(8, 2, 2, 16, cross=Attention if gate is None else None)
    if gate is not None:
        insert_cross(decoder)
        for part in decoder.modules():
            if isinstance(part, GatedAttention):
                nn.init.constant_(part.gate, gate)
    return Generator(embed, decoder, NextToken(8, 7, embed.embed), encoder=Encoder(8, 2, 2, 16)).eval()


def weights_with_gradients(
    model: nn.Module, *inputs: Any, score: Score = largest_scores
) -> list[tuple[str, Tensor, Tensor]]:
    """Compute softmax attention by hand, so that each matrix of weights is a node of the graph of autograd."""
    kept: list[tuple[str, Tensor]] = []

    def attend(layer: Any, path: str, tokens: Tokens, context: Tokens | None = None, state: Any = None) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in layer.project(tokens, context))
        k, v = (x.repeat_interleave(layer.num_heads // layer.kv_heads, dim=1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) / layer.head_dim**0.5
        if context is None and tokens.pattern == Causal():
            n = scores.shape[-1]
            scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
        weights = scores.softmax(-1)
        weights.retain_grad()
        kept.append((path, weights))
        gate = layer.gate.tanh() if isinstance(layer, GatedAttention) else 1.0
        return gate * layer.out((weights @ v).transpose(1, 2).flatten(2))

    layers = [(path, layer) for path, layer in model.named_modules() if isinstance(layer, Attention)]
    for path, layer in layers:
        crosses = "cross" in path
        part = "cross" if crosses else "decoder" if path.startswith("decoder.") else "encoder"
        layer.forward = partial(attend, layer, part)  # type: ignore[method-assign]
    score(model(*inputs)).backward()
    for _, layer in layers:
        del layer.forward
    return [(part, weights[0].detach(), weights.grad[0]) for part, weights in kept]


def times(a: Table, b: Table) -> Table:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def plus(a: Table, b: Table) -> Table:
    return [[x + y for x, y in zip(one, other, strict=True)] for one, other in zip(a, b, strict=True)]


def eye(n: int) -> Table:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def normed(r: Table) -> Table:
    """Norm as eq. 8 and 9 do."""
    found = []
    for i, row in enumerate(r):
        rest = [value - (i == j) for j, value in enumerate(row)]
        found.append([value / (sum(rest) or 1) + (i == j) for j, value in enumerate(rest)])
    return found


def looped(layers: list[tuple[str, Tensor, Tensor]], s: int, t: int) -> tuple[Table, Table, Table]:
    """Write the rules of arXiv:2103.15679 in loops over numbers."""
    source, target, cross = eye(s), eye(t), [[0.0] * s for _ in range(t)]
    for part, weights, gradient in layers:
        positive = [
            [
                sum(max(float(weights[h, i, j] * gradient[h, i, j]), 0) for h in range(len(weights))) / len(weights)
                for j in range(weights.shape[2])
            ]
            for i in range(weights.shape[1])
        ]
        if part == "encoder":
            source = plus(source, times(positive, source))
        elif part == "decoder":
            target, cross = plus(target, times(positive, target)), plus(cross, times(positive, cross))
        else:
            transposed = [list(column) for column in zip(*normed(target), strict=True)]
            cross = plus(cross, times(times(transposed, positive), normed(source)))
    return source, target, cross


@pytest.mark.parametrize("attention", [Attention, partial(Attention, kv_heads=1)])
def test_an_encoder_has_the_relevance_of_a_plain_loop(attention: Callable[..., nn.Module]) -> None:
    model, x = encoder(attention), torch.randn(1, 5, 8)
    for weights in model.parameters():
        weights.requires_grad_(False)  # it needs no gradient of weights
    found = gradient_weighted(model, (x,))
    expected = looped(weights_with_gradients(model, x.requires_grad_()), 5, 1)[0]
    torch.testing.assert_close(found.source, torch.tensor(expected), rtol=1e-9, atol=1e-12)
    assert float((found.source - torch.eye(5)).abs().max()) > 1e-6
    assert (found.target, found.cross) == (None, None)
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_an_encoder_with_a_decoder_has_the_relevance_of_a_plain_loop() -> None:
    model = writer()
    found = gradient_weighted(model, (IDS, TARGET))
    expected = looped(weights_with_gradients(model, IDS, TARGET), 3, 2)
    for one, other in zip((found.source, found.target, found.cross), expected, strict=True):
        torch.testing.assert_close(one, torch.tensor(other), rtol=1e-9, atol=1e-12)
    assert float(found.cross.abs().max()) > 1e-6


@pytest.mark.parametrize("gate", [None, 0.7])
def test_scores_of_written_tokens_have_the_relevance_of_a_plain_loop(gate: float | None) -> None:
    model = writer(gate)
    largest = model(IDS, TARGET)[0].argmax(-1).tolist()
    written = [(row, (token + 1) % 7) for row, token in enumerate(largest)]  # of each row, not the largest
    found = gradient_weighted(model, (IDS, TARGET), scores_of(written))

    def looped_score(answer: Tensor) -> Tensor:
        return answer[0, 0, written[0][1]] + answer[0, 1, written[1][1]]

    expected = looped(weights_with_gradients(model, IDS, TARGET, score=looped_score), 3, 2)
    for one, other in zip((found.source, found.target, found.cross), expected, strict=True):
        torch.testing.assert_close(one, torch.tensor(other), rtol=1e-9, atol=1e-12)
    assert found.cross is not None
    assert not torch.allclose(found.cross, gradient_weighted(model, (IDS, TARGET)).cross)  # type: ignore[arg-type]


def test_a_closed_gate_hides_the_source() -> None:
    cross = gradient_weighted(writer(0.0), (IDS, TARGET)).cross
    assert cross is not None
    assert not cross.any()


def test_another_number_is_explained_otherwise() -> None:
    model, x = encoder(), torch.randn(1, 4, 8)
    first, second = (gradient_weighted(model, (x,), itemgetter((0, at))).source for at in (0, 1))
    assert first is not None
    assert second is not None
    assert not torch.allclose(first, second)


def test_other_mechanisms_are_refused_with_their_name() -> None:
    with pytest.raises(ConfigError, match=r"gradients weight softmax attention only, and this model .* linear"):
        gradient_weighted(encoder(DeltaAttention), (torch.randn(1, 4, 8),))
    with pytest.raises(ConfigError, match="without attention"):
        gradient_weighted(nn.Linear(3, 2), (torch.randn(1, 3),))
