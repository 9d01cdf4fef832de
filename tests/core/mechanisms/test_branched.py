"""Branched attention: with weights of one it is multi-head attention, and its formula branch by branch."""

from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import Attention, Causal, ConfigError, Decoder, Lengths, NormedAttention, Tokens
from zoo.core.mechanisms.branched import (
    BranchedAttention,
    BranchedBlock,
    Simplex,
    branched,
    feed_forwards,
    no_mlp,
)


class Ones(nn.Module):
    """Weigh nothing, to compare with.

    Args:
        count: how many ones.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.ones: Tensor
        self.register_buffer("ones", torch.ones(count), persistent=False)

    def forward(self) -> Float[Tensor, " h"]:
        """Give ones."""
        return self.ones


def plain(**options: object) -> BranchedAttention:
    parts = [nn.Identity() for _ in range(4)]
    return BranchedAttention(8, 4, parts, kappa=Ones(4), alpha=Ones(4), bias=False, **options)


def test_with_kappa_one_and_no_networks_it_is_multi_head_attention() -> None:
    usual = Attention(8, 4, bias=False, pattern=Causal()).double()
    branched = plain(pattern=Causal()).double()
    branched.load_state_dict(usual.state_dict())  # the same weights under the same names
    tokens = Tokens(torch.randn(2, 5, 8, dtype=torch.float64), keys=Lengths(torch.tensor([5, 3])))
    y, wanted = branched(tokens), usual(tokens)
    torch.testing.assert_close(y, wanted, atol=1e-12, rtol=0)
    gradients = [
        torch.autograd.grad(answer.square().sum(), list(layer.parameters()))
        for answer, layer in ((y, branched), (wanted, usual))
    ]
    torch.testing.assert_close(*gradients, atol=1e-10, rtol=0)


def test_it_reads_a_context_as_multi_head_attention_does() -> None:
    usual, branched = Attention(8, 4, bias=False), plain()
    branched.load_state_dict(usual.state_dict())
    tokens, context = Tokens(torch.randn(1, 2, 8)), Tokens(torch.randn(1, 6, 8))
    torch.testing.assert_close(branched(tokens, context), usual(tokens, context))


def test_heads_are_projected_weighed_passed_on_and_weighed_again() -> None:
    layer = BranchedAttention(8, 4, feed_forwards(8, 4, 12)).double()
    with torch.no_grad():
        layer.out.kappa.logits.copy_(torch.tensor([0.0, 1.0, -1.0, 0.5]))
        layer.out.alpha.logits.copy_(torch.tensor([2.0, 0.0, 0.3, -1.0]))
    heads = torch.randn(1, 3, 8, dtype=torch.float64)
    wanted = torch.zeros(1, 3, 8, dtype=torch.float64)
    kappa, alpha = layer.out.kappa.logits.softmax(0), layer.out.alpha.logits.softmax(0)
    for i in range(4):
        mlp = layer.out.branches[i]
        inside = kappa[i] * heads[..., 2 * i : 2 * i + 2] @ layer.out.weight[:, 2 * i : 2 * i + 2].T
        hidden = (inside @ mlp.up.weight.T + mlp.up.bias).clamp(min=0)
        wanted += alpha[i] * (hidden @ mlp.down.weight.T + mlp.down.bias)
    torch.testing.assert_close(layer.out(heads), wanted)


def test_the_weights_stay_on_the_simplex_while_they_learn() -> None:
    torch.manual_seed(0)
    layer = BranchedAttention(4, 2, feed_forwards(4, 2, 4))
    assert layer.out.kappa().tolist() == layer.out.alpha().tolist() == [0.5, 0.5]
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        layer(Tokens(torch.randn(1, 3, 4))).square().sum().backward()
        optimizer.step()
    for weights in (layer.out.kappa(), layer.out.alpha()):
        assert float(weights.detach().sum()) == pytest.approx(1)
        assert (weights > 0).all()
        assert weights[0] != weights[1]


def test_branches_add_to_attention_and_feed_forward_only_weights_and_biases() -> None:
    dim, heads, mlp_dim = 8, 4, 16
    layer = BranchedAttention(dim, heads, feed_forwards(dim, heads, mlp_dim), bias=False)
    replaced = 4 * dim * dim + 2 * dim * mlp_dim + mlp_dim + dim
    assert sum(p.numel() for p in layer.parameters()) == replaced + 2 * heads + (heads - 1) * dim


def test_the_block_has_one_residual_and_norms_after_it() -> None:
    attention = BranchedAttention(8, 4, feed_forwards(8, 4, 16))
    block = BranchedBlock(8, attention)
    tokens = Tokens(torch.randn(2, 3, 8), keys=Lengths(torch.tensor([3, 2])))
    wanted = nn.functional.layer_norm(tokens.x + attention(tokens), (8,), eps=1e-6)
    torch.testing.assert_close(block(tokens).x, wanted)
    assert block(tokens).keys is tokens.keys


def test_in_a_decoder_the_attention_to_the_encoder_is_branched_and_steps_agree_with_the_whole() -> None:
    def cross(dim: int, heads: int) -> nn.Module:
        return branched(Attention(dim, heads), 16)

    decoder = Decoder(8, 2, 4, 16, block=BranchedBlock, cross=cross, mlp=no_mlp).eval()
    block: Any = decoder.blocks[0]
    x, context = torch.randn(2, 4, 8), Tokens(torch.randn(2, 3, 8), keys=Lengths(torch.tensor([3, 1])))
    tokens = Tokens(x, pattern=Causal())
    inside = nn.functional.layer_norm(x + block.attention(tokens), (8,), eps=1e-6)
    wanted = nn.functional.layer_norm(inside + block.cross(Tokens(inside), context), (8,), eps=1e-6)
    torch.testing.assert_close(block(tokens, context).x, wanted)
    assert not any("norm2" in name or "mlp" in name for name in decoder.state_dict())
    state = decoder.state(2)
    with torch.no_grad():
        steps = [decoder(Tokens(x[:, t : t + 1]), context if t == 0 else None, state).x for t in range(4)]
        torch.testing.assert_close(torch.cat(steps, dim=1), decoder(Tokens(x), context).x)


def test_any_attention_with_heads_can_be_branched() -> None:
    usual = NormedAttention(8, 4, pattern=Causal())
    made = branched(usual, 16)
    assert made is usual
    heads = torch.randn(1, 3, 8)
    alike = BranchedAttention(8, 4, feed_forwards(8, 4, 16))
    alike.out.load_state_dict(made.out.state_dict())
    torch.testing.assert_close(made.out(heads), alike.out(heads))
    with pytest.raises(ConfigError, match="Identity has no heads that could pass through branches"):
        branched(nn.Identity(), 16)
    with pytest.raises(ConfigError, match="Linear in a branched block: its branches are its MLP"):
        BranchedBlock(8, made, nn.Linear(8, 8))


def test_simplex_starts_even() -> None:
    torch.testing.assert_close(Simplex(5)(), torch.full((5,), 0.2))


def test_what_does_not_fit_is_refused_with_its_value() -> None:
    with pytest.raises(ConfigError, match="3 branches for num_heads=4"):
        BranchedAttention(8, 4, [nn.Identity() for _ in range(3)])
    with pytest.raises(ConfigError, match="mlp_dim=10 is not a multiple of num_heads=4"):
        feed_forwards(8, 4, 10)
