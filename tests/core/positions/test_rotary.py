"""Rotary positions: against Hugging Face's, and the laws of turning."""

import pytest
import torch
from transformers import GPTNeoXConfig, LlamaConfig
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXRotaryEmbedding
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from zoo.core import Attention, ConfigError, Rotary, Tokens

pytestmark = pytest.mark.usefixtures("float64")


def test_it_turns_as_llama_does() -> None:
    q, k, position = (
        torch.randn(2, 5, 3, 8),
        torch.randn(2, 5, 1, 8),
        torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]]),
    )
    config = LlamaConfig(hidden_size=24, num_attention_heads=3, head_dim=8)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 500.0}
    cos, sin = LlamaRotaryEmbedding(config)(q, position)
    theirs = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), cos, sin)
    for mine, other in zip(Rotary(8, base=500.0).turn(position, q, k), theirs, strict=True):
        torch.testing.assert_close(mine, other.transpose(1, 2), atol=1e-5, rtol=0)  # their cosines are float32


def test_a_part_of_the_channels_turns_as_in_gpt_neox() -> None:
    q, position = torch.randn(1, 6, 2, 16), torch.arange(6)[None]
    config = GPTNeoXConfig(hidden_size=32, num_attention_heads=2)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    cos, sin = GPTNeoXRotaryEmbedding(config)(q, position)
    theirs, _ = neox(q.transpose(1, 2), q.transpose(1, 2), cos, sin)  # type: ignore[no-untyped-call]
    (mine,) = Rotary(16, channels=4).turn(position, q)
    torch.testing.assert_close(mine, theirs.transpose(1, 2), atol=1e-5, rtol=0)
    torch.testing.assert_close(mine[..., 4:], q[..., 4:], atol=0, rtol=0)


def test_products_know_the_distance_only() -> None:
    q, k = torch.randn(1, 1, 1, 8, dtype=torch.float64), torch.randn(1, 1, 1, 8, dtype=torch.float64)
    rotary = Rotary(8)

    def product(i: int, j: int) -> float:
        (q_,), (k_,) = rotary.turn(torch.tensor([[i]]), q), rotary.turn(torch.tensor([[j]]), k)
        return float((q_ * k_).sum())

    assert product(3, 1) == pytest.approx(product(103, 101), abs=1e-12)
    assert product(3, 1) != pytest.approx(product(3, 0), abs=1e-3)


def test_far_positions_are_exact_in_bfloat16() -> None:
    x = torch.ones(1, 2, 1, 4, dtype=torch.bfloat16)
    (y,) = Rotary(4).bfloat16().turn(torch.tensor([[4096, 4097]]), x)
    (exact,) = Rotary(4).turn(torch.tensor([[4096, 4097]]), x.float())
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), exact, atol=1e-2, rtol=0)


def test_turning_keeps_lengths_and_position_zero_stays() -> None:
    x = torch.randn(1, 4, 2, 6)
    (y,) = Rotary(6).turn(torch.arange(4)[None], x)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(y[:, 0], x[:, 0], atol=0, rtol=0)


def test_queries_and_keys_of_another_set_turn_where_each_stands() -> None:
    layer = Attention(8, 2, position=Rotary(4)).eval()
    x, order = torch.randn(1, 4, 8), torch.tensor([2, 0, 3, 1])
    straight = layer(Tokens(x), Tokens(x))
    torch.testing.assert_close(straight, layer(Tokens(x)))
    shuffled = layer(Tokens(x), Tokens(x[:, order], position=order[None]))
    torch.testing.assert_close(shuffled, straight)


@pytest.mark.parametrize(("head_dim", "channels"), [(7, None), (8, 3), (8, 10), (8, 0)])
def test_channels_that_make_no_pairs_are_refused(head_dim: int, channels: int | None) -> None:
    with pytest.raises(ConfigError, match=f"rotary positions turn pairs: .* of head_dim={head_dim}"):
        Rotary(head_dim, channels=channels)
