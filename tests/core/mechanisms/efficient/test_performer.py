"""A Performer approximates softmax attention, leaks nothing of later keys, and decodes with a state of one size."""

from typing import Any

import pytest
import torch

from zoo.core import Attention, Causal, ConfigError, Decoder, InputError, Lengths, Segments, Tokens, Valid
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.efficient import performer as module
from zoo.core.mechanisms.efficient.performer import performer

X = torch.randn(2, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def make(features: int = 16) -> Any:
    torch.manual_seed(0)
    return performer(str(features))(8, 2).double().eval()


@torch.no_grad()
def test_the_error_to_softmax_attention_falls_with_the_features_and_grows_with_the_scores() -> None:
    def error(features: int, scale: float) -> float:
        found = []
        for _ in range(20):
            layer, softmax = performer(str(features))(8, 2).double(), Attention(8, 2).double()
            layer.load_state_dict({**softmax.state_dict(), "directions": layer.directions})
            layer.qkv.weight[:16].mul_(scale)
            softmax.qkv.weight.copy_(layer.qkv.weight)
            found.append((layer(Tokens(X)) - softmax(Tokens(X))).square().mean())
        return float(torch.stack(found).mean().sqrt())

    torch.manual_seed(0)
    errors = [error(features, 1.0) for features in (8, 128, 2048)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]  # a root: four times less each
    assert error(128, 4.0) > 4 * errors[1]


@torch.no_grad()
def test_directions_are_saved_and_never_drawn_again() -> None:
    layer, x = make(), Tokens(X)
    assert layer.state_dict()["directions"].shape == (16, 4)
    for training in (True, False):
        layer.train(training)
        assert torch.equal(layer(x), layer(x))


@torch.no_grad()
def test_a_great_last_key_moves_nothing_before_it_in_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    layer = make()
    q, k, v = (torch.randn(1, 2, 9, 4, dtype=torch.float64) for _ in range(3))
    valid, greater = torch.ones(1, 9, dtype=torch.bool), k.clone()
    greater[:, :, -1] *= 6
    before, after = (layer.mix((q, each, v), valid, True) for each in (k, greater))
    assert torch.equal(before[:, :, :-1], after[:, :, :-1])
    assert not torch.allclose(before[:, :, -1], after[:, :, -1])
    monkeypatch.setattr(module, "BLOCK", 1024)
    torch.testing.assert_close(layer.mix((q, k, v), valid, True), before)


@pytest.mark.parametrize("position", ["none", "rotary"])
@torch.no_grad()
def test_pieces_give_what_the_whole_gives_and_the_state_keeps_its_size(position: str) -> None:
    torch.manual_seed(0)
    model = Decoder(8, 2, 2, 12, attention=with_position(performer("16"), position, 8)).double().eval()
    state, sizes, answers = model.state(2), [], []
    for piece in X.split([3, 1, 1, 0, 4], 1):
        answers.append(model(Tokens(piece), state=state).x)
        sizes.append(state.stored)
    torch.testing.assert_close(torch.cat(answers, 1), model(Tokens(X)).x)
    assert set(sizes) == {2 * 2 * 2 * (16 * 5 + 1)}


@torch.no_grad()
def test_rows_of_any_length_go_on_as_if_alone_in_any_order() -> None:
    torch.manual_seed(0)
    model = Decoder(8, 2, 2, 12, attention=with_position(performer("16"), "rotary", 8)).double().eval()
    state, x = model.state(2), X[:, :6].clone()
    valid = torch.tensor([[True] * 4, [False, False, True, True]])
    x[1, :2] = 1e3
    model(Tokens(x[:, :4], keys=Valid(valid), position=valid.long().cumsum(1) - 1), state=state)
    state.reorder(torch.tensor([1, 0, 1]))
    got = [model(Tokens(x[[1, 0, 1], t : t + 1]), state=state).x for t in (4, 5)]
    for place, row in enumerate([1, 0, 1]):
        alone = torch.cat([x[row, :4][valid[row]], x[row, 4:]])[None]
        torch.testing.assert_close(torch.cat(got, 1)[place], model(Tokens(alone)).x[0, -2:])


@torch.no_grad()
def test_what_padding_holds_does_not_reach_the_state() -> None:
    layer, x = make(), X[:, :4].clone()
    valid, state, alone = torch.tensor([[True] * 4, [False, False, True, True]]), layer.state(2, Causal()), X[1:, 2:4]
    x[1, :2] = torch.nan
    y = layer(Tokens(x, Causal(), Valid(valid)), None, state)
    torch.testing.assert_close(y[1:, 2:], layer(Tokens(alone, Causal())))
    assert all(each.isfinite().all() for each in state.tensors.values())


@torch.no_grad()
def test_it_streams_without_bound_where_it_is_causal() -> None:
    layer = make()
    stage = layer.stream(Causal())
    pieces = [stage.push(piece) for piece in X.split([4, 0, 1, 4], 1)]
    torch.testing.assert_close(torch.cat(pieces, 1), layer(Tokens(X, Causal())))
    with pytest.raises(ConfigError, match=r"Full\(\): a Performer answers step by step where it is causal"):
        layer.stream()


def test_what_a_state_of_sums_cannot_do_is_refused() -> None:
    layer = make()
    state = layer.state(2, Causal())
    with pytest.raises(ConfigError, match="keeps sums of keys, so each key's weight is not known"):
        layer.weights(Tokens(X), None, state)
    with pytest.raises(ConfigError, match=r"crop\(1\): a state of constant size holds no single tokens"):
        state.crop(1)
    with pytest.raises(InputError, match="packed sets are decoded without a state"):
        layer(Tokens(X, keys=Segments(torch.zeros(2, 9, dtype=torch.long))), None, state)
    with pytest.raises(InputError, match="a batch of 1 given to a state of 2 rows"):
        layer(Tokens(X[:1], keys=Lengths(torch.tensor([3]))), None, state)
    for wrong in ("0", "-3", "many", "1.5"):
        with pytest.raises(ConfigError, match=f"M='{wrong}' is no whole number from 1 on"):
            performer(wrong)
