"""The attention layer: against PyTorch's, and the laws it keeps."""

import pytest
import torch
from torch import nn

from zoo.core import Attention, Causal, ConfigError, InputError, Lengths, NormedAttention, Tokens
from zoo.core.attention import attention_maps


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
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)


def test_cross_attention_equals_pytorch() -> None:
    layer = Attention(12, 3).eval()
    x, context, lengths = torch.randn(2, 4, 12), torch.randn(2, 6, 12), torch.tensor([6, 2])
    mine = layer(Tokens(x), Tokens(context, keys=Lengths(lengths)))
    ignored = torch.arange(6) >= lengths[:, None]
    theirs, weights = like_torch(layer, 12)(x, context, context, key_padding_mask=ignored, average_attn_weights=False)
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)
    ours = layer.weights(Tokens(x), Tokens(context, keys=Lengths(lengths)))
    torch.testing.assert_close(ours, weights, atol=1e-6, rtol=0)


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
        assert layer(Tokens(x)).isfinite().all()
