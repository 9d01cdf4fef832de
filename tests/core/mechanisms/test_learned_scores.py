"""Learned scores as layers: bilinear starts as the scaled product, additive is its formula; both decode, stream."""

from collections.abc import Callable

import pytest
import torch

from zoo.core import Attention, Causal, ConfigError, Decoder, Kernel, Tokens, Window
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.learned_scores import additive, general
from zoo.core.positions.relative import ShawPosition, TransformerXLPosition

MAKES = [general, additive]


@torch.no_grad()
def test_a_bilinear_score_starts_as_the_scaled_product() -> None:
    plain, layer, x = Attention(8, 2), general()(8, 2), torch.randn(2, 5, 8)
    missing = layer.load_state_dict(plain.state_dict(), strict=False)
    assert missing.missing_keys == ["score.w"]
    torch.testing.assert_close(layer(Tokens(x)), plain(Tokens(x)))


@torch.no_grad()
def test_an_additive_score_is_its_formula() -> None:
    layer, x = additive()(8, 2, kv_heads=1, value_dim=3), torch.randn(1, 4, 8)
    q, k, _ = layer.project(Tokens(x), None)
    w1, w2, vector = layer.score.w1, layer.score.w2, layer.score.v
    for head in range(2):
        scores = torch.stack(
            [
                torch.stack(
                    [vector[head] @ (w1[head] @ q[0, i, head] + w2[head] @ k[0, j, 0]).tanh() for j in range(4)]
                )
                for i in range(4)
            ]
        )
        torch.testing.assert_close(layer.weights(Tokens(x))[0, head], scores.softmax(-1))


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("position", ["none", "rotary", "alibi", "relative"])
@torch.no_grad()
def test_it_decodes_step_by_step_what_it_gives_at_once(make: Callable[[], type[Attention]], position: str) -> None:
    torch.manual_seed(0)
    attention = with_position(lambda dim, heads: make()(dim, heads, kv_heads=1), position, 8)
    model, x = Decoder(8, 2, 2, 12, attention=attention).double().eval(), torch.randn(2, 5, 8, dtype=torch.float64)
    state = model.state(2)
    steps = [model(Tokens(piece), state=state).x for piece in x.split([2, 1, 1, 1], 1)]
    torch.testing.assert_close(torch.cat(steps, 1), model(Tokens(x)).x)


@pytest.mark.parametrize("make", MAKES)
@torch.no_grad()
def test_it_streams_what_it_gives_at_once(make: Callable[[], type[Attention]]) -> None:
    layer, x, pattern = make()(8, 2).double(), torch.randn(1, 9, 8, dtype=torch.float64), Window(3, 1)
    for name, parameter in layer.named_parameters():
        if name.startswith("score"):
            parameter.add_(torch.randn_like(parameter))
    stage = layer.stream(pattern)
    pieces = [stage.push(piece, last=index == 2) for index, piece in enumerate(x.split([4, 1, 4], 1))]
    torch.testing.assert_close(torch.cat(pieces, 1), layer(Tokens(x, pattern)))


@pytest.mark.parametrize("make", MAKES)
def test_heads_that_do_not_fit_are_refused(make: Callable[[], type[Attention]]) -> None:
    for heads in (0, 3):
        with pytest.raises(ConfigError, match=f"dim=8 is not a multiple of num_heads={heads}"):
            make()(8, heads)
    with pytest.raises(ConfigError, match="linear attention makes no scores"):
        make()(8, 2, norm=Kernel())


@pytest.mark.parametrize("make", MAKES)
def test_every_parameter_learns(make: Callable[[], type[Attention]]) -> None:
    layer = make()(8, 2, pattern=Causal(), dropout=0.1)
    layer(Tokens(torch.randn(2, 5, 8))).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


@pytest.mark.parametrize("name", ["shaw", "transformer-xl"])
def test_a_position_that_meets_the_query_needs_a_product(name: str) -> None:
    with pytest.raises(ConfigError, match=f"position='{name}' acts on the product .* score=Additive is no"):
        with_position(additive(), name, 4)(8, 2)
    position = ShawPosition(4) if name == "shaw" else TransformerXLPosition(8, 2, 4)
    with pytest.raises(ConfigError, match=f"(?s)position={type(position).__name__}.* score=Additive is no product"):
        additive()(8, 2, position=position)
    assert with_position(general(), name, 4)(8, 2)(Tokens(torch.randn(1, 3, 8))).shape == (1, 3, 8)
