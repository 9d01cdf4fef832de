"""The attention layer: against PyTorch's, and the laws it keeps."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.core import (
    Attention,
    Causal,
    Chunk,
    ConfigError,
    InputError,
    Lengths,
    NormedAttention,
    Rotary,
    Segments,
    Static,
    Tokens,
    Valid,
    Window,
)
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.branched import BranchedAttention, feed_forwards
from zoo.core.mechanisms.hard_attention import HardAttention
from zoo.core.mechanisms.learned_scores import additive, general
from zoo.core.mechanisms.linear_attention import linear_attention
from zoo.core.models.inspection import attention_maps
from zoo.core.patterns.pattern import Pattern
from zoo.core.positions.absolute import ADDED, position_encoding
from zoo.core.positions.attention_position import IN_ATTENTION

pytestmark = pytest.mark.usefixtures("float64")


def like_torch(layer: Attention, dim: int) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(dim, layer.num_heads, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(layer.qkv.weight)
        theirs.in_proj_bias.copy_(layer.qkv.bias)
        theirs.out_proj.load_state_dict(layer.out.state_dict())
    return theirs


def test_self_attention_equals_pytorch() -> None:
    layer = Attention(12, 3).eval()
    x, lengths = torch.randn(2, 5, 12), torch.tensor([5, 3])
    mine = layer(Tokens(x, keys=Lengths(lengths)))
    theirs, _ = like_torch(layer, 12)(x, x, x, key_padding_mask=torch.arange(5) >= lengths[:, None])
    torch.testing.assert_close(mine, theirs)


def test_cross_attention_equals_pytorch() -> None:
    layer = Attention(12, 3).eval()
    x, context, lengths = torch.randn(2, 4, 12), torch.randn(2, 6, 12), torch.tensor([6, 2])
    mine = layer(Tokens(x), Tokens(context, keys=Lengths(lengths)))
    ignored = torch.arange(6) >= lengths[:, None]
    theirs, weights = like_torch(layer, 12)(x, context, context, key_padding_mask=ignored, average_attn_weights=False)
    torch.testing.assert_close(mine, theirs)
    ours = layer.weights(Tokens(x), Tokens(context, keys=Lengths(lengths)))
    torch.testing.assert_close(ours, weights)


def test_its_own_pattern_restricts_what_the_tokens_allow() -> None:
    layer, plain = Attention(8, 2, pattern=Causal()).eval(), Attention(8, 2).eval()
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(1, 4, 8)
    torch.testing.assert_close(layer(Tokens(x)), plain(Tokens(x, pattern=Causal())))


def test_without_positions_it_is_permutation_equivariant() -> None:
    layer, x, order = Attention(8, 2), torch.randn(2, 5, 8), torch.randperm(5)
    torch.testing.assert_close(layer(Tokens(x[:, order])), layer(Tokens(x))[:, order])


def test_dropout_works_in_training_only() -> None:
    layer, tokens = Attention(8, 2, dropout=0.5), Tokens(torch.randn(1, 6, 8))
    assert not torch.allclose(layer(tokens), layer(tokens))
    layer.eval()
    torch.testing.assert_close(layer(tokens), layer(tokens), atol=0, rtol=0)


def test_head_dim_and_bias_are_free() -> None:
    layer = Attention(6, 4, head_dim=5, bias=False)
    assert layer(Tokens(torch.randn(1, 3, 6))).shape == (1, 3, 6)
    assert sum(p.numel() for p in layer.parameters()) == 6 * 3 * 20 + 20 * 6


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_values_may_be_wider_than_keys(kv_heads: int) -> None:
    layer = Attention(8, 4, head_dim=3, value_dim=5, kv_heads=kv_heads).eval()
    assert layer.qkv.out_features == 4 * 3 + kv_heads * (3 + 5)
    assert layer.out.in_features == 4 * 5
    x, context = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
    for tokens, read in ((Tokens(x), None), (Tokens(x), Tokens(context, keys=Lengths(torch.tensor([6, 2]))))):
        source = read or tokens
        sizes = [12, kv_heads * 3, kv_heads * 5]
        (wq, wk, wv), (bq, bk, bv) = layer.qkv.weight.split(sizes), layer.qkv.bias.split(sizes)
        q = (x @ wq.T + bq).unflatten(-1, (4, 3)).transpose(1, 2)
        k = (source.x @ wk.T + bk).unflatten(-1, (kv_heads, 3)).repeat_interleave(4 // kv_heads, 2).transpose(1, 2)
        v = (source.x @ wv.T + bv).unflatten(-1, (kv_heads, 5)).repeat_interleave(4 // kv_heads, 2).transpose(1, 2)
        scores = q @ k.mT / 3**0.5
        if read is not None:
            scores[1, :, :, 2:] = -torch.inf
        wanted = layer.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        torch.testing.assert_close(layer(tokens, read), wanted)


@pytest.mark.parametrize("pattern", [Causal(), Window(2, 0)])
@pytest.mark.parametrize("position", ["rotary", "transformer-xl", "shaw"])
def test_wider_values_are_kept_by_states_and_meet_every_position(pattern: Pattern, position: str) -> None:
    def wide(dim: int, num_heads: int) -> Attention:
        return Attention(dim, num_heads, head_dim=2, value_dim=5, pattern=pattern)

    layer = with_position(wide, position, 6)(8, 2).eval()
    assert isinstance(layer, Attention)
    x, state = torch.randn(2, 6, 8), layer.state(2)
    with torch.no_grad():
        steps = [layer(Tokens(x[:, t : t + 1]), None, state) for t in range(6)]
        torch.testing.assert_close(torch.cat(steps, dim=1), layer(Tokens(x)))


def test_query_heads_share_the_keys_and_values_of_their_group() -> None:
    grouped, plain = Attention(8, 4, kv_heads=2), Attention(8, 4)
    assert grouped.qkv.out_features == 8 + 2 * 4
    with torch.no_grad():
        q, k, v = grouped.qkv.weight.split([8, 4, 4])
        k, v = (x.view(2, 2, 8).repeat_interleave(2, dim=0).flatten(0, 1) for x in (k, v))  # arXiv:2305.13245 fig. 2
        plain.qkv.weight.copy_(torch.cat([q, k, v]))
        q, k, v = grouped.qkv.bias.split([8, 4, 4])
        k, v = (x.view(2, 2).repeat_interleave(2, dim=0).flatten(0, 1) for x in (k, v))
        plain.qkv.bias.copy_(torch.cat([q, k, v]))
        plain.out.load_state_dict(grouped.out.state_dict())
    x, context = Tokens(torch.randn(2, 5, 8)), Tokens(torch.randn(2, 3, 8))
    torch.testing.assert_close(grouped(x), plain(x))
    torch.testing.assert_close(grouped(x, context), plain(x, context))
    assert grouped.weights(x, context).shape == (2, 4, 5, 3)


@pytest.mark.parametrize("kv_heads", [3, 0, 8])
def test_heads_that_make_no_groups_are_refused(kv_heads: int) -> None:
    with pytest.raises(ConfigError, match=f"num_heads=4 is not a multiple of kv_heads={kv_heads}"):
        Attention(8, 4, kv_heads=kv_heads)


def test_patterns_are_read_at_the_positions_of_the_tokens() -> None:
    layer, x = Attention(8, 2, pattern=Chunk(2)), torch.randn(1, 4, 8)
    shifted = layer(Tokens(x, position=torch.arange(1, 5)[None]))  # chunks are then 0 | 1 2 | 3
    alone = [layer(Tokens(x[:, piece])) for piece in (slice(0, 1), slice(1, 3), slice(3, 4))]
    torch.testing.assert_close(shifted, torch.cat(alone, dim=1))


def test_packed_sets_may_each_count_their_own_positions() -> None:
    layer, x = Attention(8, 2, position=Rotary(4), pattern=Causal()), torch.randn(1, 5, 8)
    packed = Tokens(x, keys=Segments(torch.tensor([[0, 0, 0, 1, 1]])), position=torch.tensor([[0, 1, 2, 0, 1]]))
    torch.testing.assert_close(layer(packed), torch.cat([layer(Tokens(x[:, :3])), layer(Tokens(x[:, 3:]))], dim=1))


def test_positions_that_jump_are_refused_where_they_matter() -> None:
    jumping = Tokens(torch.randn(1, 3, 8), position=torch.tensor([[0, 2, 3]]))
    with pytest.raises(InputError, match=r"positions \[0, 2, 3\] of row 0 are not consecutive"):
        Attention(8, 2, pattern=Causal())(jumping)
    packed = Tokens(jumping.x, keys=Segments(torch.tensor([[0, 0, 0]])), position=jumping.position)
    with pytest.raises(InputError, match=r"positions \[0, 2\] stand side by side in a packed set of row 0"):
        Attention(8, 2, pattern=Causal())(packed)
    assert Attention(8, 2, position=Rotary(4))(jumping).isfinite().all()


def test_what_is_not_there_may_stand_anywhere() -> None:
    layer, x = Attention(8, 2, pattern=Chunk(2) & Causal()), torch.randn(1, 4, 8)
    valid = Valid(torch.tensor([[False, True, True, True]]))
    y = layer(Tokens(x, keys=valid, position=torch.tensor([[7, 0, 1, 2]])))
    torch.testing.assert_close(y[:, 1:], layer(Tokens(x[:, 1:])))


def test_weights_leave_the_state_as_it_is() -> None:
    layer, x = Attention(8, 2, pattern=Causal()), torch.randn(1, 4, 8)
    state = layer.state(1)
    with torch.no_grad():
        layer(Tokens(x[:, :3]), None, state)
        step = Tokens(x[:, 3:])
        weights = layer.weights(step, None, state)
        assert state.lengths.tolist() == [3]
    torch.testing.assert_close(weights, layer.weights(Tokens(x))[:, :, 3:])


def with_branches(dim: int, num_heads: int, **options: Any) -> BranchedAttention:
    return BranchedAttention(dim, num_heads, feed_forwards(dim, num_heads, 8), **options)


LAYERS: dict[str, Callable[..., Any]] = {
    "softmax": Attention,
    "normed": NormedAttention,
    "general": general(),
    "additive": additive(),
    "hard": HardAttention,
    "linear": linear_attention(),
    "branched": with_branches,
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("pattern", [Causal(), Window(2, 0), Chunk(3)])
@pytest.mark.parametrize("training", [True, False])
def test_asking_for_weights_changes_no_state_inside_or_outside_of_a_graph(
    name: str, pattern: Pattern, training: bool
) -> None:
    layer, x = LAYERS[name](8, 2, pattern=pattern).train(training), torch.randn(2, 5, 8, requires_grad=training)
    state, step = layer.state(2, spare=1), Tokens(x[:, 4:])
    with torch.set_grad_enabled(training and name != "hard"):  # which is refused in training without REINFORCE
        layer(Tokens(x[:, :4]), None, state)
        before, lengths = {key: value.clone() for key, value in state.tensors.items()}, state.lengths.clone()
        asked = []
        for _ in range(2):
            with nullcontext() if name != "linear" or pattern != Causal() else pytest.raises(ConfigError):
                asked.append(layer.weights(step, None, state))
    assert state.tensors.keys() == before.keys()
    assert all(state.tensors[key].equal(value) for key, value in before.items())
    assert state.lengths.equal(lengths)
    assert not asked or asked[0].equal(asked[1])
    if training and asked and name != "hard":
        (gradient,) = torch.autograd.grad(asked[0].square().sum(), x)
        assert gradient[:, 3].abs().sum() > 0  # through what the state keeps


def test_asking_for_the_weights_of_a_context_does_not_keep_it() -> None:
    layer, x, state = Attention(8, 2), torch.randn(1, 3, 8, requires_grad=True), Static(1)
    layer.weights(Tokens(x), Tokens(x), state)
    assert not state.filled
    layer(Tokens(x), Tokens(x), state)
    torch.testing.assert_close(layer.weights(Tokens(x), None, state), layer.weights(Tokens(x), Tokens(x)))


class Precisions(TorchDispatchMode):
    """Collects the floating dtypes of everything that is computed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        tensors = [x for x in tree_leaves(made) if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel()]
        self.found |= {x.dtype for x in tensors}
        return made


SCORELESS, NO_PRODUCTS = ("linear",), ("linear", "additive")
NOT_FITTING = {"alibi": SCORELESS, "relative": SCORELESS, "transformer-xl": NO_PRODUCTS, "shaw": NO_PRODUCTS}
"""Layers that take no such position."""
PAIRS = [(name, place) for name in LAYERS for place in ADDED + IN_ATTENTION if name not in NOT_FITTING.get(place, ())]


@pytest.mark.parametrize(("name", "position"), PAIRS)
def test_a_model_in_float64_computes_nothing_in_less(name: str, position: str) -> None:
    attention = with_position(partial(LAYERS[name], pattern=Causal()), position, 6)
    layer, added = attention(8, 2).double().eval(), position_encoding(position, 8, (3, 2))
    x = torch.randn(1, 6, 8, dtype=torch.float64)
    with torch.no_grad(), Precisions() as precisions:
        if added is not None:
            x = x + added.double()((2, 3) if position == "learned" else (6,))
        layer(Tokens(x))
        state = layer.state(1)
        for t in range(6):
            layer(Tokens(x[:, t : t + 1]), None, state)
    assert precisions.found == {torch.float64}


def test_maps_come_in_the_order_of_use_and_leave_no_hooks() -> None:
    model = nn.Sequential()
    first, second = Attention(4, 1, pattern=Causal()), Attention(4, 2)
    model.extend([second, first])

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.parts[0](Tokens(self.parts[1](Tokens(x))))

    maps = attention_maps(Both(), torch.randn(1, 3, 4))
    assert [m.shape for m in maps] == [(1, 1, 3, 3), (1, 2, 3, 3)]
    assert float(maps[0][0, 0, 0, 1:].sum()) == 0
    assert not first._forward_pre_hooks


def test_sizes_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ConfigError, match="dim=8 is not a multiple of num_heads=3"):
        Attention(8, 3)


def test_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(InputError, match="vectors of 5 channels given to an attention of dim=8"):
        Attention(8, 2)(Tokens(torch.randn(1, 2, 5)))


def test_normed_queries_and_keys_bound_the_scores() -> None:
    layer = NormedAttention(8, 2).eval()
    torch.nn.init.zeros_(layer.qkv.bias)
    x = torch.randn(1, 4, 8)
    q = layer.project(Tokens(x), None)[0]
    torch.testing.assert_close(q.square().mean(-1), torch.ones(1, 4, 2), atol=1e-3, rtol=0)
    torch.testing.assert_close(layer.weights(Tokens(1000 * x)), layer.weights(Tokens(10 * x)), atol=1e-3, rtol=0)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer.float()(Tokens(x.float())).isfinite().all()


def test_normed_queries_of_a_kept_context_are_those_of_a_fresh_one() -> None:
    layer, x, context = NormedAttention(8, 2).eval(), torch.randn(1, 3, 8), Tokens(torch.randn(1, 4, 8))
    state = Static(1)
    with torch.no_grad():
        layer(Tokens(x[:, :1]), context, state)
        torch.testing.assert_close(layer(Tokens(x), None, state), layer(Tokens(x), context))
