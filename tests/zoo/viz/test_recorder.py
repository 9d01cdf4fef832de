"""Recording of chosen weights."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Attention, Decoder, Encoder, Generator, NextToken, TokenEmbed, Tokens
from zoo.errors import ConfigError, InputError
from zoo.viz.recorder import Selection, check_chosen, record

pytestmark = pytest.mark.usefixtures("float64")
INPUTS = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 4]])


def writer() -> Generator:
    embed = TokenEmbed(7, 8)
    decoder = Decoder(8, 2, 2, 16, cross=Attention)
    return Generator(embed, decoder, NextToken(8, 7, embed.embed), encoder=Encoder(8, 1, 2, 16)).eval()


def test_all_weights_are_those_of_the_model_with_their_parts() -> None:
    model = writer()
    found = record(model, INPUTS)
    for each, weights in zip(found, model.attention_maps(*INPUTS), strict=True):
        torch.testing.assert_close(each.weights, weights[0].float())
    assert [(each.part, each.layer) for each in found] == [
        ("encoder", 1),
        ("decoder", 1),
        ("cross", 1),
        ("decoder", 2),
        ("cross", 2),
    ]
    assert not any(layer._forward_pre_hooks for layer in model.modules())


KNOWN = (
    "vit-micro bert-micro speech-micro conformer-micro hybrid-micro rnn-attention-tiny gat-cora transformer-tiny "
    "weighted-transformer-base gps-micro graph-tiny joined:vit-micro+decoder-tiny"
)


@pytest.mark.parametrize("name", KNOWN.split())
def test_the_layers_that_are_known_before_a_run_are_those_that_are_used(name: str) -> None:
    sizes: dict[str, Any] = {"depth": 2} if name.startswith("weighted") else {}
    model = zoo.create(name, **sizes).eval()
    found = record(model, zoo.example(name, 1))
    for part in {each.part for each in found}:
        last = max(each.layer for each in found if each.part == part)
        heads = max(head for each in found for head in each.heads)
        check_chosen(model, Selection(part, (1, last), (1, heads)))
        for more in (Selection(part, (last + 1,)), Selection(part, (), (heads + 1,)), Selection(part, (0,))):
            with pytest.raises(ConfigError, match=r"there are (layers|heads) 1 … "):
                check_chosen(model, more)


def test_a_layer_that_stands_in_two_places_is_two() -> None:
    model = writer()
    model.encoder.blocks.append(model.encoder.blocks[0])
    check_chosen(model, Selection("encoder", (2,)))
    assert len(record(model, INPUTS, Selection("encoder"))) == 2
    with pytest.raises(ConfigError, match="layers=3: there are layers 1 … 2"):
        check_chosen(model, Selection("encoder", (3,)))


class Reader(nn.Module):
    """A plugin's own block, whose attention reads a memory first and then the tokens, again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = Attention(8, 2)
        self.memory = nn.Parameter(torch.randn(1, 2, 8))

    def forward(self, tokens: Tokens) -> Tokens:
        tokens = tokens.with_x(self.reads(tokens, Tokens(self.memory.expand(len(tokens.x), -1, -1))))
        for _ in range(3):
            tokens = tokens.with_x(self.reads(tokens))
        return tokens


def test_what_only_a_run_of_a_plugin_s_module_tells_is_left_to_it() -> None:
    model = writer()
    model.encoder.blocks[0] = Reader()
    for chosen in (Selection("cross", (3,)), Selection("encoder", (3,)), Selection("encoder", (), (2,))):
        check_chosen(model, chosen)
        assert record(model, INPUTS, chosen)
    with pytest.raises(ConfigError, match="heads=3: there are heads 1 … 2"):
        check_chosen(model, Selection(heads=(3,)))
    check_chosen(model, Selection("encoder", (4,)))
    with pytest.raises(ConfigError, match="layers=4: there are layers 1 … 3"):
        record(model, INPUTS, Selection("encoder", (4,)))


def test_chosen_layers_and_heads_alone_are_kept() -> None:
    model = writer()
    found = record(model, INPUTS, Selection("cross", (2,), (2,)))
    ((part, layer, heads, weights),) = [(each.part, each.layer, each.heads, each.weights) for each in found]
    assert (part, layer, heads) == ("cross", 2, (2,))
    torch.testing.assert_close(weights, model.attention_maps(*INPUTS)[4][0, 1:].float())


def test_more_than_fits_is_refused_before_it_is_made_and_a_choice_may_fit() -> None:
    model = writer()
    with pytest.raises(
        InputError, match=r"3 vectors read 3, in 2 heads: that is more than the 17 weights .*layers= and heads="
    ):
        record(model, INPUTS, Selection(most=17))
    assert len(record(model, INPUTS, Selection("cross", most=24))) == 2


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (Selection(layers=(3,)), "layers=3: there are layers 1 … 2"),
        (Selection(heads=(0,)), "heads=0: there are heads 1 … 2"),
    ],
)
def test_what_is_not_there_is_told(chosen: Selection, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        record(writer(), INPUTS, chosen)


def test_a_part_that_no_model_has_is_told_before_one_runs() -> None:
    with pytest.raises(ConfigError, match="part='other' is none of encoder, decoder, cross"):
        Selection("other")


def test_a_model_of_another_library_gives_its_own_maps() -> None:
    class Theirs(nn.Module):
        def attention_maps(self, x: Tensor) -> list[Tensor]:
            return [torch.eye(3).expand(1, 4, 3, 3), torch.eye(2).expand(1, 4, 2, 2)]

    (found,) = record(Theirs(), (torch.zeros(1),), Selection(layers=(2,), heads=(1, 4)))
    assert (found.part, found.layer, found.heads, found.weights.shape) == ("encoder", 2, (1, 4), (2, 2, 2))


@pytest.mark.parametrize("name", ["lstm-lm-tiny", "resnet-micro"])
def test_a_model_without_weights_is_told_what_can_be_shown_instead(name: str) -> None:
    torch.set_default_dtype(torch.float32)
    model: Any = zoo.create(name).eval()
    with pytest.raises(ConfigError, match=f"'{name}' has no attention weights: .* has weights to explore"):
        record(model, zoo.example(name, 1))


def test_weights_that_are_no_numbers_are_told() -> None:
    model: Any = zoo.create("vit-micro", depth=1)
    with pytest.raises(InputError, match=r"layer 1 of the encoder has weights that are no numbers \(NaN\)"):
        record(model, (torch.full((1, 3, 24, 24), torch.nan),), Selection())
