"""Attention maps with what is said about them."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Attention, Decoder, Encoder, Generator, NextToken, TokenEmbed, Tokens
from zoo.core.layers.heads import head
from zoo.core.models.model import Model
from zoo.errors import ConfigError, InputError
from zoo.viz import attention_maps
from zoo.viz.attention_maps import Map, Side, chosen, maps_of

pytestmark = pytest.mark.usefixtures("float64")

IDS, TARGET = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 4]])


def writer() -> Generator:
    torch.manual_seed(0)
    embed = TokenEmbed(7, 8)
    decoder = Decoder(8, 2, 2, 16, cross=Attention)
    return Generator(embed, decoder, NextToken(8, 7, embed.embed), encoder=Encoder(8, 1, 2, 16)).eval()


class Frames(nn.Module):
    spacing = (0.04, "s")

    def forward(self, x: Tensor) -> Tokens:
        return Tokens(x)


def test_maps_are_those_of_the_model_and_know_whose_they_are() -> None:
    model = writer()
    found = maps_of(model, (IDS, TARGET), ["a", "b", "c"], ["<s>", "b"])
    for each, weights in zip(found, model.attention_maps(IDS, TARGET), strict=True):
        torch.testing.assert_close(each.weights, weights[0].float())
    assert [(each.part, each.layer) for each in found] == [
        ("encoder", 1),
        ("decoder", 1),
        ("cross", 1),
        ("decoder", 2),
        ("cross", 2),
    ]
    assert found[2].weights.shape == (2, 2, 3)
    assert found[2].queries.names == ("<s>", "b")
    assert found[2].keys.names == found[0].queries.names == ("a", "b", "c")
    assert (found[2].queries.what, found[2].keys.what) == ("target token", "source token")
    assert (found[1].keys.what, found[0].keys.what) == ("target token", "")
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_sides_are_counted_in_what_the_stem_says() -> None:
    model = Model(Frames(), Encoder(8, 1, 2, 16), head("tag", 8, 3)).eval()
    (found,) = maps_of(model, (torch.randn(2, 5, 8),))
    assert found.queries == found.keys == Side(0.04, "s")


def test_a_model_of_another_library_has_its_maps_in_one_part() -> None:
    class Theirs(nn.Module):
        def attention_maps(self, x: Tensor) -> list[Tensor]:
            return [torch.eye(3).expand(1, 4, 3, 3), torch.eye(2).expand(1, 4, 2, 2)]

    found = maps_of(Theirs(), (torch.zeros(1),))
    assert [(each.part, each.layer, each.heads) for each in found] == [
        ("encoder", 1, (1, 2, 3, 4)),
        ("encoder", 2, (1, 2, 3, 4)),
    ]


@pytest.mark.usefixtures("toys")
def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(ConfigError, match="'conv-small' has no attention that could be drawn"):
        maps_of(zoo.create("conv-small"), (torch.zeros(1, 4),))


def test_maps_that_would_not_fit_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    model = writer()
    weights = 2 * (9 + 2 * (4 + 6))
    monkeypatch.setattr(attention_maps, "MOST", weights)
    assert len(maps_of(model, (IDS, TARGET))) == 5
    monkeypatch.setattr(attention_maps, "MOST", weights - 1)
    with pytest.raises(InputError, match=r"2 vectors read 3: .* more than 57 weights; give a shorter input"):
        maps_of(model, (IDS, TARGET))
    assert not any(layer._forward_pre_hooks for layer in model.modules())


@pytest.fixture
def some() -> list[Map]:
    return maps_of(writer(), (IDS, TARGET))


def test_parts_layers_and_heads_are_chosen_in_their_order(some: list[Map]) -> None:
    found = chosen(some, None, [2], [2])
    assert [(each.part, each.layer, each.heads) for each in found] == [("decoder", 2, (2,)), ("cross", 2, (2,))]
    torch.testing.assert_close(found[1].weights, some[4].weights[1:])
    assert [each.layer for each in chosen(some, "cross", [], [])] == [1, 2]
    assert chosen(some, None, [], []) == some


def test_layers_without_a_head_that_is_asked_for_are_left_out() -> None:
    few, many = (
        Map("encoder", heads, tuple(range(1, heads + 1)), torch.rand(heads, 2, 2), Side(), Side()) for heads in (2, 4)
    )
    found = chosen([few, many], None, [], [4, 1])
    assert [(each.layer, each.heads) for each in found] == [(2, (1,)), (4, (1, 4))]
    (third,) = chosen([few, many], None, [], [3])
    assert (third.layer, third.heads) == (4, (3,))
    torch.testing.assert_close(third.weights, many.weights[2:3])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("middle", [], []), "part='middle': this model has encoder and decoder and cross"),
        (("encoder", [2], []), "layers=2: there are layers 1 … 1"),
        ((None, [0], []), "layers=0: there are layers 1 … 2"),
        ((None, [], [3]), "heads=3: there are heads 1 … 2"),
    ],
)
def test_what_is_not_there_is_refused(some: list[Map], asked: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        chosen(some, *asked)
