"""The laws of every efficient attention: padding, batch mates, causality, gradients, precision, what is refused."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Causal, ConfigError, InputError, Lengths, Segments, Tokens, Valid, Window, left_padded
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.mechanisms.abilities import Mechanism
from zoo.factory.attention_argument import attention

CAUSAL = [
    "performer:16",
    "synthesizer:dense,32",
    "synthesizer:random,32",
    "synthesizer:factorised,32",
    "reformer:4,2,3",
    "longformer:2,0,3",
]
WHOLE = ["linformer:4,128", "nystrom:4", "doubly-stochastic", "sinkhorn:3,128"]
NAMES = CAUSAL + WHOLE
DIM, HEADS = 8, 2
on_device = pytest.mark.usefixtures("on_device")


def make(name: str, dtype: torch.dtype = torch.float64) -> Any:
    torch.manual_seed(0)
    layer: nn.Module = attention(name)(DIM, HEADS)
    with torch.no_grad():
        for parameter in layer.parameters():  # so that no bias is 0 and no score is small
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return layer.to(dtype).eval()


def draw(n: int, b: int = 1, seed: int = 1) -> Tensor:
    drawn = torch.randn(b, n, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, device="cpu")
    return drawn.to(torch.get_default_device())


@pytest.mark.parametrize("name", NAMES)
def test_it_is_an_attention_layer_and_tells_its_abilities_and_cost(name: str) -> None:
    layer = make(name)
    assert isinstance(make(name), AttentionLayer)
    assert isinstance(make(name), Mechanism)
    assert layer.abilities.causal == (name in CAUSAL) == (not layer.not_causal)
    assert 0 < layer.cost(8).multiply_adds < layer.cost(16).multiply_adds
    assert layer.cost(8).numbers > 0


@on_device
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 5, 8])
@torch.no_grad()
def test_a_padded_row_is_the_row_alone_whatever_stands_in_the_padding_and_beside_it(name: str, n: int) -> None:
    layer, x = make(name), draw(n)
    alone = layer(Tokens(x))[0]
    mate = draw(11, seed=2) * 5
    padded = torch.cat([torch.cat([x, torch.full((1, 11 - n, DIM), torch.nan).double()], 1), mate])
    behind = layer(Tokens(padded, keys=Lengths(torch.tensor([n, 11]))))
    torch.testing.assert_close(behind[0, :n], alone, atol=1e-10, rtol=1e-9)
    torch.testing.assert_close(behind[1], layer(Tokens(mate))[0], atol=1e-10, rtol=1e-9)
    torch.testing.assert_close(behind[0, n:], layer_bias(layer).expand(11 - n, -1))
    front = layer(left_padded(padded.roll(11 - n, 1)[:1], torch.tensor([n])))
    torch.testing.assert_close(front[0, 11 - n :], alone, atol=1e-10, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_sums_over_a_set_are_in_full_precision_under_autocast(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, seen = make(name, torch.float32), []
    mix = layer.mix

    def watched(*parts: Any) -> Tensor:
        seen.append((torch.is_autocast_enabled("cpu"), parts[0][-1].dtype))
        made: Tensor = mix(*parts)
        return made

    monkeypatch.setattr(layer, "mix", watched)
    with torch.autocast("cpu", torch.bfloat16):
        layer(Tokens(draw(6).float()))
    assert seen == [(False, torch.float32)]


@on_device
@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_packed_sets_are_the_sets_alone(name: str) -> None:
    layer, x, y = make(name), draw(3), draw(5, seed=2)
    packed = Tokens(torch.cat([x, y], 1), keys=Segments(torch.tensor([[0] * 3 + [1] * 5])))
    torch.testing.assert_close(layer(packed), torch.cat([layer(Tokens(x)), layer(Tokens(y))], 1))
    weights = layer.weights(packed)
    torch.testing.assert_close(weights[:, :, :3, :3], layer.weights(Tokens(x)))
    assert not weights[:, :, :3, 3:].any()
    with pytest.raises(InputError, match=r"sets \[\[0, 1, 0\]\] of packed rows stand in pieces"):
        layer(Tokens(x, keys=Segments(torch.tensor([[0, 1, 0]]))))


@on_device
@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_an_empty_row_an_empty_batch_and_no_tokens_are_finite(name: str) -> None:
    layer, nothing = make(name), layer_bias(make(name))
    y = layer(Tokens(draw(4, 2), keys=Lengths(torch.tensor([0, 4]))))
    torch.testing.assert_close(y[0], nothing.expand(4, -1))
    assert layer(Tokens(draw(0, 2))).shape == (2, 0, DIM)
    assert layer(Tokens(draw(3, 0))).shape == (0, 3, DIM)


def layer_bias(layer: Any) -> Tensor:
    return layer.out.bias


@on_device
@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_weights_are_the_matrix_that_is_multiplied_with_the_values(name: str) -> None:
    layer, tokens = make(name), Tokens(draw(7, 2), keys=Valid(torch.tensor([[False] + [True] * 6, [True] * 7])))
    value = layer.heads(tokens, tokens.positions)[-1][:, :, :HEADS].masked_fill(~tokens.valid()[..., None, None], 0)
    assert layer.weights(tokens).shape == (2, HEADS, 7, 7)
    if not name.startswith("longformer"):  # it has two kinds of values
        y = (layer.weights(tokens) @ value.transpose(1, 2)).transpose(1, 2)
        torch.testing.assert_close(layer.out(y.flatten(2)), layer(tokens))


@on_device
@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("t", [1, 4, 9])
@torch.no_grad()
def test_no_answer_moves_with_a_later_token(name: str, t: int) -> None:
    layer, x = make(name), draw(11)
    before = layer(Tokens(x, Causal()))
    moved = x.clone()
    moved[:, t:] = draw(11 - t, seed=3) * 6
    after = layer(Tokens(moved, Causal()))
    torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-12, rtol=0)
    torch.testing.assert_close(layer(Tokens(x[:, :t], Causal())), before[:, :t], atol=1e-12, rtol=1e-12)
    assert ((after - before)[:, t:].abs() > 1e-8).any(-1).all()
    assert not layer.weights(Tokens(x, Causal())).triu(1).any()


@on_device
@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_differences(name: str) -> None:
    layer, x = make(name), draw(5)
    for causal in (False, True)[: 1 + (name in CAUSAL)]:
        tokens = Tokens(x, Causal() if causal else None, Lengths(torch.tensor([4])))

        def answer(y: Tensor, tokens: Tokens = tokens) -> Tensor:
            return layer(tokens.with_x(y))

        leaf = x.clone().requires_grad_()  # sums of a GPU differ from run to run
        assert torch.autograd.gradcheck(answer, leaf, fast_mode=True, check_undefined_grad=False, nondet_tol=1e-9)


@on_device
@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_learns(name: str) -> None:
    layer = make(name).train()
    layer(Tokens(draw(9, 3))).square().sum().backward()
    for key, parameter in layer.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.any(), key


@on_device
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_half_precision_and_large_or_no_vectors_give_no_nan(name: str, dtype: torch.dtype, scale: float) -> None:
    layer = make(name, dtype)
    x = (draw(9, 2) * scale).to(dtype).requires_grad_()
    for pattern in (None, Causal())[: 1 + (name in CAUSAL)]:
        y = layer(Tokens(x, pattern, Lengths(torch.tensor([0, 9]))))
        y.float().square().sum().backward()
        assert y.dtype == dtype
        assert y.isfinite().all()
        assert x.grad is not None
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_weights_that_are_loaded_give_the_same_answers(name: str) -> None:
    layer, x = make(name), draw(9)
    torch.manual_seed(9)
    other = attention(name)(DIM, HEADS).double().eval()
    other.load_state_dict(deepcopy(layer.state_dict()))
    assert torch.equal(other(Tokens(x)), layer(Tokens(x)))


@pytest.mark.parametrize("name", NAMES)
def test_heads_that_do_not_divide_and_foreign_arguments_are_refused(name: str) -> None:
    for heads in (0, 3):
        with pytest.raises(ConfigError, match=f"dim=8 is not a multiple of num_heads={heads}"):
            attention(name)(8, heads)
    layer = make(name)
    with pytest.raises(ConfigError, match="reads its own tokens, all at once"):
        layer(Tokens(draw(2)), Tokens(draw(3)))
    with pytest.raises(ConfigError, match="which reads by its own rule: leave the pattern at Full"):
        layer(Tokens(draw(2), Window(1)))
    with pytest.raises(InputError, match="vectors of 4 channels given to an attention of dim=8"):
        layer(Tokens(draw(2)[..., :4]))


@pytest.mark.parametrize("name", NAMES)
def test_it_works_by_name_in_an_encoder(name: str) -> None:
    torch.manual_seed(0)
    model = zoo.create("bert-micro", attention=name, num_classes=3)
    inputs = zoo.example("bert-micro")
    assert model(*inputs).isfinite().all()


@pytest.mark.parametrize("name", WHOLE)
def test_a_decoder_with_what_cannot_be_causal_is_refused_when_it_is_built(name: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be causal: it "):
        zoo.create("decoder-tiny", attention=name, position="learned")
    with pytest.raises(ConfigError, match=r"cannot be causal: it "):
        make(name)(Tokens(draw(2), Causal()))


@on_device
@pytest.mark.parametrize("name", CAUSAL)
@torch.no_grad()
def test_a_decoder_generates_what_it_gives_at_once(name: str) -> None:
    torch.manual_seed(0)
    model = zoo.create("decoder-tiny", attention=name, position="learned", depth=2).double().eval()
    prompt = torch.tensor([[5, 6, 7], [8, 9, 10]])
    ids = model.generate(prompt, max_len=4).ids[:, 0]
    for step in range(ids.shape[1]):
        best = model(torch.cat([prompt, ids[:, :step]], 1))[:, -1].argmax(-1)
        ended = (ids[:, :step] == 2).any(1)
        assert torch.equal(best[~ended], ids[~ended, step])


def positioned(name: str, position: str) -> Callable[[], Any]:
    return lambda: zoo.create("bert-micro", attention=name, position=position)


@pytest.mark.parametrize("name", NAMES)
def test_positions_turn_queries_and_keys_where_there_are_some_and_never_add_to_scores(name: str) -> None:
    with pytest.raises(ConfigError, match=r"position='alibi' for .*positions added to the tokens go with it"):
        positioned(name, "alibi")()
    if make(name).turned:
        model = positioned(name, "rotary")()
        assert model(*zoo.example("bert-micro")).isfinite().all()
    else:
        with pytest.raises(ConfigError, match=r"position='rotary' for .*has no query and key of each place to turn"):
            positioned(name, "rotary")()
