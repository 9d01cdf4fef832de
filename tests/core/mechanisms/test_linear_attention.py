"""Linear attention as a layer: its state has a constant size, and decoding with it equals the whole."""

from copy import deepcopy

import pytest
import torch

from zoo.core import Attention, Causal, ConfigError, Decoder, Kernel, Lengths, Rotary, Tokens, Valid, Window
from zoo.core.cache.linear_state import LinearAttentionState
from zoo.core.cache.ring import Ring
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.linear_attention import linear_attention


def decoder(position: str = "none", kv_heads: int = 1) -> Decoder:
    torch.manual_seed(0)
    make = with_position(lambda dim, heads: linear_attention()(dim, heads, kv_heads=kv_heads), position, 8)
    return Decoder(8, 2, 2, 12, attention=make).double().eval()


@pytest.mark.parametrize("position", ["none", "rotary"])
@pytest.mark.parametrize("kv_heads", [1, 2])
@torch.no_grad()
def test_pieces_give_what_the_whole_gives_and_the_state_keeps_its_size(position: str, kv_heads: int) -> None:
    model, x = decoder(position, kv_heads), torch.randn(2, 9, 8, dtype=torch.float64)
    state, sizes, answers = model.state(2), [], []
    for piece in x.split([3, 1, 1, 0, 4], 1):
        answers.append(model(Tokens(piece), state=state).x)
        sizes.append(state.stored)
    torch.testing.assert_close(torch.cat(answers, 1), model(Tokens(x)).x)
    assert len(set(sizes)) == 1
    assert all(isinstance(layer.own, LinearAttentionState) for layer in state.layers)


@pytest.mark.parametrize("front", [True, False])
@torch.no_grad()
def test_rows_of_any_length_go_on_as_if_alone_in_any_order(front: bool) -> None:
    model, x = decoder("rotary"), torch.randn(2, 6, 8, dtype=torch.float64)
    valid = torch.tensor([[True, True, True, True], [False, False, True, True]])
    valid = valid if front else valid.flip(1)
    state = model.state(2)
    position = valid.long().cumsum(1) - 1
    keys = Valid(valid) if front else Lengths(valid.sum(1))
    model(Tokens(x[:, :4], keys=keys, position=position), state=state)
    state.reorder(torch.tensor([1, 0, 1]))
    assert state.next.tolist() == [2, 4, 2]
    got = [model(Tokens(x[[1, 0, 1], t : t + 1]), state=state).x for t in (4, 5)]
    for place, row in enumerate([1, 0, 1]):
        alone = torch.cat([x[row, :4][valid[row]], x[row, 4:]])[None]
        torch.testing.assert_close(torch.cat(got, 1)[place], model(Tokens(alone)).x[0, -2:])


@torch.no_grad()
def test_weights_leave_the_state_alone_and_a_state_of_sums_has_none() -> None:
    layer, x = linear_attention()(8, 2), torch.randn(1, 4, 8)
    for pattern in (Causal(), Window(2, 0)):
        state = layer.state(1, pattern)
        layer(Tokens(x, pattern), None, state)
        before = deepcopy(state.tensors)
        if isinstance(state, LinearAttentionState):
            with pytest.raises(ConfigError, match="keeps sums of keys, so each key's weight is not known"):
                layer.weights(Tokens(x, pattern), None, state)
        else:
            assert isinstance(state, Ring)
            assert layer.weights(Tokens(x[:, :1], pattern), None, state).shape[:3] == (1, 2, 1)
        assert state.tensors.keys() == before.keys()
        assert all(state.tensors[name].equal(kept) for name, kept in before.items())
        assert state.lengths.tolist() == [4]


@torch.no_grad()
def test_a_window_decodes_with_the_keys_that_it_reads() -> None:
    layer, x = linear_attention()(8, 2).double(), torch.randn(1, 6, 8, dtype=torch.float64)
    pattern = Window(2, 0)
    state = layer.state(1, pattern)
    steps = [layer(Tokens(x[:, t : t + 1], pattern), None, state) for t in range(6)]
    torch.testing.assert_close(torch.cat(steps, 1), layer(Tokens(x, pattern)))


@torch.no_grad()
def test_causal_linear_attention_streams_without_bound() -> None:
    layer, x = linear_attention()(8, 2).double(), torch.randn(2, 9, 8, dtype=torch.float64)
    stage = layer.stream(Causal())
    pieces, stored = [], set()
    for piece in x.split([4, 1, 4], 1):
        pieces.append(stage.push(piece))
        stored.add(stage.stored)
    torch.testing.assert_close(torch.cat(pieces, 1), layer(Tokens(x, Causal())))
    assert len(stored) == 1
    with pytest.raises(ConfigError, match="without bound"):
        layer.stream()


def test_what_needs_scores_or_weights_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"dropout=0.1 for norm=Kernel\(elu_features\): linear attention makes no"):
        Attention(8, 2, norm=Kernel(), dropout=0.1)
    with pytest.raises(ConfigError, match=r"score='dot' for norm=Kernel\(elu_features\)"):
        Attention(8, 2, norm=Kernel(), score="dot")
    for name in ("alibi", "relative", "shaw", "transformer-xl"):
        with pytest.raises(ConfigError, match=f"position='{name}' adds to scores, and linear attention .* makes none"):
            with_position(linear_attention(), name, 4)(8, 2)
    layer = linear_attention()(8, 2, position=Rotary(4))
    state = layer.state(1, Causal())
    with pytest.raises(ConfigError, match=r"whose sums are read by Causal\(\) only"):
        layer(Tokens(torch.randn(1, 2, 8)), None, state)
    with pytest.raises(ConfigError, match=r"crop\(1\): a state of constant size holds no single tokens"):
        state.crop(1)
