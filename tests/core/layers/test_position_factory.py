"""Position encodings inside attention, by name."""

import pytest
import torch
from torch import nn

from zoo.core import Attention, Causal, ConfigError, Encoder, NormedAttention, Rotary, Tokens
from zoo.core.layers.position_factory import attention_position, with_position
from zoo.core.positions.absolute import ADDED
from zoo.core.positions.attention_position import IN_ATTENTION, HeadSizes


@pytest.mark.parametrize("name", IN_ATTENTION)
@pytest.mark.parametrize("attention", [Attention, NormedAttention, lambda d, h: Attention(d, h, pattern=Causal())])
def test_each_attention_of_a_stack_gets_one_of_its_own(name: str, attention: type[Attention]) -> None:
    encoder = Encoder(8, 2, 2, 8, attention=with_position(attention, name, 5))
    first, second = (block.attention.position for block in encoder.blocks)
    assert type(first) is type(second)
    assert first is not second
    assert encoder(Tokens(torch.randn(2, 5, 8))).x.isfinite().all()


@pytest.mark.parametrize("name", ADDED)
def test_what_is_added_to_the_vectors_leaves_attention_alone(name: str) -> None:
    assert with_position(Attention, name, 5) is Attention


def test_a_table_tells_all_offsets_of_the_usual_length_apart() -> None:
    position = attention_position("relative", HeadSizes(8, 2, 4, 4), 5)
    assert [tuple(p.shape) for p in position.parameters()] == [(2, 9)]


def test_attention_without_a_place_for_positions_is_refused() -> None:
    with pytest.raises(ConfigError, match="position='alibi' acts inside attention, where Linear has no place for it"):
        with_position(nn.Linear, "alibi", 5)(8, 2)


def test_a_second_position_encoding_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"position='alibi' for an attention that has Rotary\(.*\) already"):
        with_position(lambda d, h: Attention(d, h, position=Rotary(d // h)), "alibi", 5)(8, 2)


def test_heads_that_do_not_fit_and_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 channels of head_dim=3"):
        with_position(Attention, "rotary", 5)(6, 2)
    with pytest.raises(ConfigError, match="position='magic' is not one of learned"):
        with_position(Attention, "magic", 5)(8, 2)
