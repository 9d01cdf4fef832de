"""Cross-attention that is inserted: nothing changes at first, what is new is named, and the source is read once."""

from typing import Any

import pytest
import torch
from torch import nn

from zoo.core import (
    Attention,
    Block,
    ConfigError,
    Decoder,
    GatedAttention,
    Generator,
    NextToken,
    PostNormBlock,
    PreNormBlock,
    RecurrentDecoder,
    RecurrentLayers,
    TokenEmbed,
    Tokens,
    insert_cross,
    open_gates,
)


def decoder(block: type[Block] = PreNormBlock, **options: Any) -> Decoder:
    made = Decoder(8, 2, 2, 16, block=block, **options)
    with torch.no_grad():
        for weights in made.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
    return made.eval()


@pytest.mark.parametrize("block", [PreNormBlock, PostNormBlock])
def test_a_decoder_is_unchanged_at_first_whatever_it_is_given_to_read(block: type[Block]) -> None:
    own, tokens, context = decoder(block), Tokens(torch.randn(2, 5, 8)), Tokens(torch.randn(2, 3, 8))
    before = own(tokens).x
    insert_cross(own)
    assert torch.equal(own(tokens, context).x, before)
    open_gates(own)
    assert not torch.allclose(own(tokens, context).x, before, atol=1e-3)


def test_what_is_new_is_named_and_holds_all_new_parameters() -> None:
    own = decoder()
    before = set(dict(own.named_parameters()))
    new = insert_cross(own)
    assert new == [f"blocks.{index}.{part}" for index in (0, 1) for part in ("cross_norm", "cross")]
    added = set(dict(own.named_parameters())) - before
    assert added
    assert all(name.startswith(tuple(f"{part}." for part in new)) for name in added)


def test_cross_attention_that_is_there_is_kept() -> None:
    own = decoder(cross=Attention)
    assert insert_cross(own) == []
    assert not any(isinstance(part, GatedAttention) for part in own.modules())
    assert insert_cross(RecurrentDecoder("gru", 8)) == []


def test_an_open_gate_is_attention_without_one_to_the_last_bit() -> None:
    gated, plain = GatedAttention(8, 2).double(), Attention(8, 2).double()
    open_gates(gated)
    plain.load_state_dict({key: value for key, value in gated.state_dict().items() if key != "gate"})
    tokens, context = (Tokens(torch.randn(2, n, 8, dtype=torch.float64)) for n in (4, 3))
    assert torch.equal(gated(tokens, context), plain(tokens, context))


def test_the_gate_is_moved_by_the_first_step() -> None:
    gated = GatedAttention(8, 2)
    gated(Tokens(torch.randn(2, 4, 8)), Tokens(torch.randn(2, 3, 8))).sum().backward()
    assert gated.gate.grad is not None
    assert gated.gate.grad.abs() > 0


def test_keys_and_values_of_the_source_are_computed_once_a_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    own = decoder()
    insert_cross(own)
    embed = TokenEmbed(9, 8)
    model = Generator(embed, own, NextToken(8, 9, embed.embed), encoder=nn.Identity(), stem=Given())
    read: list[int] = []
    project = Attention.project

    def counted(self: Attention, tokens: Tokens, context: Tokens | None) -> Any:
        read.extend([] if context is None else [1])
        return project(self, tokens, context)

    monkeypatch.setattr(Attention, "project", counted)
    written = model.generate(torch.randn(2, 3, 8), max_len=6, beam=2)
    assert written.ids.shape[2] > 1
    assert len(read) == 2  # one for each block


class Given(nn.Module):
    def forward(self, x: torch.Tensor) -> Tokens:
        return Tokens(x)


def test_a_decoder_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"RecurrentLayers cannot read .* 'rnn-attention-tiny'"):
        insert_cross(RecurrentLayers("gru", 8))
    own = decoder()
    own.blocks[1] = nn.Identity()
    with pytest.raises(ConfigError, match="block 1 of the decoder is a Identity"):
        insert_cross(own)
    assert not own.crosses
