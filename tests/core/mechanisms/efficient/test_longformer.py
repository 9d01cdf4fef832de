"""Longformer: with equal projections it is a pattern of Attention; global queries read by their own; HF agrees."""

from functools import partial
from typing import Any

import pytest
import torch

from zoo.core import Attention, Causal, ConfigError, Globals, Lengths, Tokens, Window
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.efficient.longformer import longformer
from zoo.core.patterns.pattern import Pattern

X = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def make(*arguments: str) -> Any:
    torch.manual_seed(0)
    return longformer(*arguments)(8, 2).double().eval()


@pytest.mark.parametrize("ahead", [None, Causal()])
@pytest.mark.parametrize("position", ["none", "rotary"])
@torch.no_grad()
def test_with_equal_projections_it_is_attention_to_a_window_and_globals(ahead: Pattern | None, position: str) -> None:
    torch.manual_seed(0)
    layer, plain = (
        with_position(made, position, 8)(8, 2).double().eval()
        for made in (longformer("2", "0", "5"), partial(Attention, pattern=Window(2) | Globals((0, 5))))
    )
    plain.load_state_dict({**plain.state_dict(), **{k: v for k, v in layer.state_dict().items() if "global" not in k}})
    layer.global_qkv.load_state_dict(layer.qkv.state_dict())
    tokens = Tokens(X, ahead, Lengths(torch.tensor([8, 6])))
    torch.testing.assert_close(layer(tokens)[0], plain(tokens)[0])
    torch.testing.assert_close(layer(tokens)[1, :6], plain(tokens)[1, :6])
    torch.testing.assert_close(layer.weights(tokens)[0], plain.weights(tokens)[0])


@torch.no_grad()
def test_the_second_projections_change_global_places_only() -> None:
    layer = make("2", "0", "5")
    before = layer(Tokens(X))
    layer.global_qkv.weight.add_(1)
    moved = (layer(Tokens(X)) != before).any(-1)
    assert moved[0].tolist() == [True] + [False] * 4 + [True] + [False] * 2


@torch.no_grad()
def test_a_global_place_reads_all_by_the_second_queries_keys_and_values() -> None:
    layer = make("1", "0", "5")
    q, k, v = layer.global_qkv(X).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
    expected = ((q @ k.mT / 2).softmax(-1) @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(layer(Tokens(X))[:, [0, 5]], layer.out(expected)[:, [0, 5]])


@torch.no_grad()
def test_a_global_place_behind_the_end_of_a_row_is_none() -> None:
    layer = make("1", "7")
    torch.testing.assert_close(layer(Tokens(X[:, :4])), layer(Tokens(X, keys=Lengths(torch.tensor([4, 4]))))[:, :4])


@pytest.mark.slow
@torch.no_grad()
def test_it_agrees_with_hugging_face_s_code() -> None:
    found = pytest.importorskip("transformers.models.longformer.modeling_longformer")
    config = pytest.importorskip("transformers").LongformerConfig(
        hidden_size=8, num_attention_heads=2, attention_window=[4], attention_probs_dropout_prob=0.0
    )
    theirs, layer = found.LongformerSelfAttention(config, 0).double().eval(), make("2", "0")
    for own, names in ((layer.qkv, ("query", "key", "value")), (layer.global_qkv, ("query", "key", "value"))):
        suffix = "" if own is layer.qkv else "_global"
        own.weight.copy_(torch.cat([getattr(theirs, name + suffix).weight for name in names]))
        own.bias.copy_(torch.cat([getattr(theirs, name + suffix).bias for name in names]))
    layer.out.weight.copy_(torch.eye(8))
    layer.out.bias.zero_()
    mask = torch.zeros(2, 8, dtype=torch.float64)
    mask[:, 0] = 10000.0
    answer = theirs(
        X,
        attention_mask=mask,
        is_index_masked=mask < 0,
        is_index_global_attn=mask > 0,
        is_global_attn=True,
    )[0]
    torch.testing.assert_close(layer(Tokens(X)), answer, atol=1e-5, rtol=0)


def test_a_place_is_a_whole_number() -> None:
    with pytest.raises(ConfigError, match="PLACE='first' is no whole number from 0 on"):
        longformer("4", "first")
    with pytest.raises(ConfigError, match="W='0' is no whole number from 1 on"):
        longformer("0")
