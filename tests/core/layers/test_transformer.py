"""Blocks and the encoder: against PyTorch's, and the laws of whole stacks."""

from typing import Any

import pytest
import torch
from torch import nn

from zoo.core import (
    Attention,
    Causal,
    ConfigError,
    Decoder,
    Encoder,
    EncoderDecoder,
    InputError,
    Lengths,
    PostNormBlock,
    PreNormBlock,
    Tokens,
    Window,
)
from zoo.core.layers.blocks import Block, DropPath
from zoo.core.layers.mlp import ACTIVATIONS, mlp_with
from zoo.core.models.inspection import attention_maps
from zoo.core.ops.activations import gelu

pytestmark = pytest.mark.usefixtures("float64")


def copied(theirs: nn.TransformerEncoderLayer, ours: Any) -> None:
    with torch.no_grad():
        ours.attention.qkv.weight.copy_(theirs.self_attn.in_proj_weight)
        ours.attention.qkv.bias.copy_(theirs.self_attn.in_proj_bias)
    ours.attention.out.load_state_dict(theirs.self_attn.out_proj.state_dict())
    ours.mlp.up.load_state_dict(theirs.linear1.state_dict())
    ours.mlp.down.load_state_dict(theirs.linear2.state_dict())
    ours.norm1.load_state_dict(theirs.norm1.state_dict())
    ours.norm2.load_state_dict(theirs.norm2.state_dict())


def copied_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    with torch.no_grad():
        ours.qkv.weight.copy_(theirs.in_proj_weight)
        ours.qkv.bias.copy_(theirs.in_proj_bias)
    ours.out.load_state_dict(theirs.out_proj.state_dict())


def copied_decoder_layer(theirs: nn.TransformerDecoderLayer, ours: Any) -> None:
    copied_attention(theirs.self_attn, ours.attention)
    copied_attention(theirs.multihead_attn, ours.cross)
    for name, other in (("norm1", "norm1"), ("cross_norm", "norm2"), ("norm2", "norm3")):
        getattr(ours, name).load_state_dict(getattr(theirs, other).state_dict())
    ours.mlp.up.load_state_dict(theirs.linear1.state_dict())
    ours.mlp.down.load_state_dict(theirs.linear2.state_dict())


def randomised(module: nn.Module) -> nn.Module:
    """Move the norms and biases from 1 and 0, so that a mix-up shows."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return module.eval()


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_a_block_equals_pytorch(block: type[Block]) -> None:
    theirs = nn.TransformerEncoderLayer(
        8, 2, 16, activation="gelu", batch_first=True, norm_first=block is PreNormBlock, layer_norm_eps=1e-6
    ).eval()
    ours = Encoder(8, 1, 2, 16, block=block).eval()
    copied(theirs, ours.blocks[0])
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(ours.blocks[0](Tokens(x)).x, theirs(x))


def test_only_pre_norm_ends_in_a_norm() -> None:
    x = Tokens(torch.randn(2, 5, 8))
    encoder = Encoder(8, 1, 2, 16).eval()
    torch.testing.assert_close(
        encoder(x).x,
        nn.functional.layer_norm(encoder.blocks[0](x).x, (8,), eps=1e-6),
    )
    post = Encoder(8, 1, 2, 16, block=PostNormBlock).eval()
    torch.testing.assert_close(post(x).x, post.blocks[0](x).x, rtol=0, atol=0)


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
    with pytest.raises(ConfigError, match="depth=0: a stack has at least one block"):
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


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("relu", nn.functional.relu), ("gelu", nn.functional.gelu), ("silu", nn.functional.silu),
        ("gelu-tanh", lambda x: nn.functional.gelu(x, approximate="tanh")),
    ],
)  # fmt: skip
def test_activations_are_torchs_and_overwrite_only_what_no_gradient_wants(name: str, wanted: Any) -> None:
    x = torch.randn(7, requires_grad=True)
    kept, exact = x.detach().clone(), wanted(x)
    torch.testing.assert_close(ACTIVATIONS[name](x), exact)
    torch.testing.assert_close(x.detach(), kept)
    with torch.no_grad():
        temporary = kept.clone()
        assert ACTIVATIONS[name](temporary) is temporary
        torch.testing.assert_close(temporary, exact)


def test_the_mlp_of_every_block_is_a_part() -> None:
    x, context = torch.randn(1, 3, 8), torch.randn(1, 2, 8)
    for name, activation in ACTIVATIONS.items():
        encoder, decoder = Encoder(8, 2, 2, 16, mlp=mlp_with(name)), Decoder(8, 2, 2, 16, mlp=mlp_with(name))
        assert all(block.mlp.activation is activation for block in (*encoder.blocks, *decoder.blocks))
    nothing = Decoder(8, 2, 2, 16, cross=Attention, mlp=lambda dim, mlp_dim, dropout: nn.Identity())
    assert nothing(Tokens(x), Tokens(context)).x.shape == (1, 3, 8)
    with pytest.raises(ConfigError, match="activation='elu' is not one of relu, gelu, gelu-tanh, silu"):
        mlp_with("elu")


OPTIONS: dict[str, Any] = {"activation": "gelu", "batch_first": True, "layer_norm_eps": 1e-6}


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
@pytest.mark.parametrize("causal", [True, False])
def test_a_decoder_equals_pytorch_with_masks_and_padding(block: type[Block], causal: bool) -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 16, norm_first=block is PreNormBlock, **OPTIONS)
    last = nn.LayerNorm(8, eps=1e-6) if block is PreNormBlock else None
    theirs: Any = randomised(nn.TransformerDecoder(layer, 2, norm=last))
    pattern = Causal() if causal else Window(1, 2)
    ours = Decoder(8, 2, 2, 16, block=block, cross=Attention, pattern=pattern).eval()
    for one, other in zip(theirs.layers, ours.blocks, strict=True):
        copied_decoder_layer(one, other)
    if last is not None:
        ours.norm.load_state_dict(theirs.norm.state_dict())
    x, context = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    lengths, sizes, i = torch.tensor([5, 3]), torch.tensor([2, 4]), torch.arange(5)
    wanted = theirs(
        x,
        context,
        tgt_mask=~pattern.allows(i[:, None], i[None]),
        tgt_key_padding_mask=i >= lengths[:, None],
        memory_key_padding_mask=torch.arange(4) >= sizes[:, None],
    )
    got = ours(Tokens(x, keys=Lengths(lengths)), Tokens(context, keys=Lengths(sizes))).x
    valid = i < lengths[:, None]
    torch.testing.assert_close(got[valid], wanted[valid])


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_an_encoder_with_a_decoder_equals_pytorch(block: type[Block]) -> None:
    first = block is PreNormBlock
    norms = [nn.LayerNorm(8, eps=1e-6) if first else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, norm_first=first, **OPTIONS), 2, norms[0], False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, norm_first=first, **OPTIONS), 2, norms[1])
    theirs: Any = randomised(nn.Transformer(8, 2, custom_encoder=encoder, custom_decoder=decoder, batch_first=True))
    both = EncoderDecoder(Encoder(8, 2, 2, 16, block=block), Decoder(8, 2, 2, 16, block=block, cross=Attention))
    ours: Any = both.eval()
    for one, other in zip(theirs.encoder.layers, ours.encoder.blocks, strict=True):
        copied(one, other)
    for one, other in zip(theirs.decoder.layers, ours.decoder.blocks, strict=True):
        copied_decoder_layer(one, other)
    if first:
        ours.encoder.norm.load_state_dict(theirs.encoder.norm.state_dict())
        ours.decoder.norm.load_state_dict(theirs.decoder.norm.state_dict())
    source, target, sizes = torch.randn(2, 4, 8), torch.randn(2, 5, 8), torch.tensor([2, 4])
    padding = torch.arange(4) >= sizes[:, None]
    wanted = theirs(
        source,
        target,
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    got = ours(Tokens(source, keys=Lengths(sizes)), Tokens(target)).x
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_padding_of_source_and_target_changes_nothing_even_when_it_is_nan(block: type[Block]) -> None:
    both = EncoderDecoder(Encoder(8, 2, 2, 16, block=block), Decoder(8, 2, 2, 16, block=block, cross=Attention)).eval()
    source, target, nan = torch.randn(1, 3, 8), torch.randn(1, 4, 8), torch.full((1, 2, 8), torch.nan)
    padded = both(
        Tokens(torch.cat([source, nan], dim=1), keys=Lengths(torch.tensor([3]))),
        Tokens(torch.cat([target, nan], dim=1), keys=Lengths(torch.tensor([4]))),
    ).x
    torch.testing.assert_close(padded[:, :4], both(Tokens(source), Tokens(target)).x)
    padded[:, :4].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in both.parameters())


def test_nan_in_the_padding_of_a_context_reaches_no_gradient() -> None:
    decoder, x, context = Decoder(8, 2, 2, 16, cross=Attention), torch.randn(1, 4, 8), torch.randn(1, 3, 8)
    padded = torch.cat([context, torch.full((1, 2, 8), torch.nan)], dim=1)
    y = decoder(Tokens(x), Tokens(padded, keys=Lengths(torch.tensor([3])))).x
    torch.testing.assert_close(y, decoder(Tokens(x), Tokens(context)).x)
    y.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


def test_an_encoders_pattern_is_no_pattern_of_its_reader() -> None:
    both = EncoderDecoder(Encoder(8, 1, 2, 16), Decoder(8, 1, 2, 16, cross=Attention)).eval()
    maps = attention_maps(both, Tokens(torch.randn(1, 6, 8), pattern=Window(1)), Tokens(torch.randn(1, 4, 8)))
    assert [m.shape for m in maps] == [(1, 2, 6, 6), (1, 2, 4, 4), (1, 2, 4, 6)]
    assert float(maps[0][0, 0].triu(2).sum()) == 0
    assert (maps[2] > 0).all()
    for each in maps:
        torch.testing.assert_close(each.sum(-1), torch.ones(each.shape[:3]))


def test_whatever_attention_a_decoder_has_it_does_not_look_ahead() -> None:
    decoder = Decoder(8, 2, 2, 16, attention=lambda d, h: Attention(d, h, pattern=Window(3, 3))).eval()
    x = torch.randn(1, 6, 8)
    changed = torch.cat([x[:, :4], torch.randn(1, 2, 8)], dim=1)
    before, after = (decoder(Tokens(each)).x for each in (x, changed))
    torch.testing.assert_close(before[:, :4], after[:, :4], atol=0, rtol=0)


def test_a_decoder_with_a_context_steps_as_it_reads_the_whole() -> None:
    decoder = Decoder(8, 2, 2, 16, cross=Attention, block=PostNormBlock).eval()
    x, context = torch.randn(2, 5, 8), Tokens(torch.randn(2, 3, 8), keys=Lengths(torch.tensor([1, 3])))
    state = decoder.state(2)
    with torch.no_grad():
        steps = [decoder(Tokens(x[:, t : t + 1]), context if t == 0 else None, state).x for t in range(5)]
        torch.testing.assert_close(torch.cat(steps, dim=1), decoder(Tokens(x), context).x)


def test_states_of_a_decoder_end_in_what_forward_gives() -> None:
    decoder, tokens = Decoder(8, 3, 2, 16).eval(), Tokens(torch.randn(2, 4, 8))
    states = list(decoder.states(tokens))
    assert len(states) == 3
    torch.testing.assert_close(states[-1].x, decoder(tokens).x, atol=0, rtol=0)
    assert states[-1].pattern is None


def test_dropout_and_drop_path_work_in_a_decoder_as_in_an_encoder() -> None:
    decoder = Decoder(8, 3, 2, 16, cross=Attention, dropout=0.5, drop_path=0.4)
    assert [block.drop_path.probability for block in decoder.blocks] == pytest.approx([0.0, 0.2, 0.4])
    tokens, context = Tokens(torch.randn(2, 4, 8)), Tokens(torch.randn(2, 3, 8))
    assert not torch.allclose(decoder(tokens, context).x, decoder(tokens, context).x)
    decoder.eval()
    torch.testing.assert_close(decoder(tokens, context).x, decoder(tokens, context).x, atol=0, rtol=0)


def test_a_context_that_is_missing_or_not_read_is_refused() -> None:
    tokens = Tokens(torch.randn(1, 2, 8))
    with pytest.raises(InputError, match="this decoder reads the vectors of an encoder: give context="):
        Decoder(8, 1, 2, 16, cross=Attention)(tokens)
    with pytest.raises(InputError, match="a context given to a decoder that reads none: make it with cross=Attention"):
        Decoder(8, 1, 2, 16)(tokens, tokens)
    with pytest.raises(InputError, match="this block reads the vectors of an encoder: give context="):
        Decoder(8, 1, 2, 16, cross=Attention).blocks[0](tokens)


def test_attention_that_keeps_no_state_is_named() -> None:
    class Mean(nn.Module):
        def forward(self, tokens: Tokens) -> torch.Tensor:
            return tokens.x.mean(1, keepdim=True).expand_as(tokens.x)

    with pytest.raises(ConfigError, match="Mean keeps no state: it decodes without one; an AttentionLayer keeps one"):
        Decoder(8, 1, 2, 16, attention=lambda dim, heads: Mean()).state(1)
