"""Blocks and the encoder: against PyTorch's, and the laws of whole stacks."""

from typing import Any

import pytest
import torch
from torch import nn

from zoo.core import Causal, ConfigError, Encoder, Lengths, PostNormBlock, PreNormBlock, Tokens
from zoo.core.block import Block, DropPath, gelu


def copied(theirs: nn.TransformerEncoderLayer, ours: Any) -> None:
    with torch.no_grad():
        ours.attention.qkv.weight.copy_(theirs.self_attn.in_proj_weight)
        ours.attention.qkv.bias.copy_(theirs.self_attn.in_proj_bias)
    ours.attention.out.load_state_dict(theirs.self_attn.out_proj.state_dict())
    ours.mlp.up.load_state_dict(theirs.linear1.state_dict())
    ours.mlp.down.load_state_dict(theirs.linear2.state_dict())
    ours.norm1.load_state_dict(theirs.norm1.state_dict())
    ours.norm2.load_state_dict(theirs.norm2.state_dict())


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_a_block_equals_pytorch(block: type[Block]) -> None:
    theirs = nn.TransformerEncoderLayer(
        8, 2, 16, activation="gelu", batch_first=True, norm_first=block is PreNormBlock, layer_norm_eps=1e-6
    ).eval()
    ours = Encoder(8, 1, 2, 16, block=block).eval()
    copied(theirs, ours.blocks[0])
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(ours.blocks[0](Tokens(x)).x, theirs(x), atol=1e-5, rtol=0)


def test_only_pre_norm_ends_in_a_norm() -> None:
    assert isinstance(Encoder(8, 1, 2, 16).norm, nn.LayerNorm)
    assert isinstance(Encoder(8, 1, 2, 16, block=PostNormBlock).norm, nn.Identity)


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_padding_changes_nothing_even_when_it_is_nan(block: type[Block]) -> None:
    encoder = Encoder(8, 2, 2, 16, block=block).eval()
    x = torch.randn(1, 3, 8)
    padded = torch.cat([x, torch.full((1, 2, 8), torch.nan)], dim=1)
    y = encoder(Tokens(padded, keys=Lengths(torch.tensor([3])))).x
    torch.testing.assert_close(y[:, :3], encoder(Tokens(x)).x)
    y[:, :3].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


def test_a_causal_stack_does_not_look_ahead() -> None:
    encoder, x = Encoder(8, 3, 2, 16).eval(), torch.randn(1, 5, 8)
    changed = x.clone()
    changed[:, 3:] = torch.randn(1, 2, 8)
    before, after = (encoder(Tokens(each, pattern=Causal())).x for each in (x, changed))
    torch.testing.assert_close(before[:, :3], after[:, :3], atol=0, rtol=0)
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_states_end_in_what_forward_gives() -> None:
    encoder, tokens = Encoder(8, 3, 2, 16).eval(), Tokens(torch.randn(2, 4, 8))
    states = list(encoder.states(tokens))
    assert len(states) == 3
    torch.testing.assert_close(states[-1].x, encoder(tokens).x, atol=0, rtol=0)


def test_drop_path_grows_linearly_with_depth() -> None:
    rates = [block.drop_path.probability for block in Encoder(8, 3, 2, 16, drop_path=0.4).blocks]
    assert rates == pytest.approx([0.0, 0.2, 0.4])


def test_drop_path_drops_whole_rows_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    y = DropPath(0.25)(torch.ones(4000, 2, 3))
    assert set(y.flatten(1).std(1).tolist()) == {0.0}
    assert float(y.mean()) == pytest.approx(1, abs=0.05)
    assert float((y[:, 0, 0] == 0).float().mean()) == pytest.approx(0.25, abs=0.03)
    kept = torch.ones(2, 2, 3)
    assert DropPath(0.25).eval()(kept) is kept


def test_drop_path_refuses_a_probability_of_one() -> None:
    with pytest.raises(ConfigError, match=r"drop_path=1.0 is not in \[0, 1\)"):
        DropPath(1.0)


def test_an_encoder_without_blocks_or_with_a_wild_drop_path_is_refused() -> None:
    with pytest.raises(ConfigError, match="depth=0: an encoder has at least one block"):
        Encoder(8, 0, 2, 16)
    with pytest.raises(ConfigError, match=r"drop_path=1.5 is not in \[0, 1\)"):
        Encoder(8, 1, 2, 16, drop_path=1.5)


def test_gelu_is_exact_and_overwrites_only_what_no_gradient_wants() -> None:
    x = torch.randn(7, requires_grad=True)
    exact = nn.functional.gelu(x)
    torch.testing.assert_close(gelu(x), exact)
    with torch.no_grad():
        temporary = x.detach().clone()
        assert gelu(temporary) is temporary
        torch.testing.assert_close(temporary, exact)
