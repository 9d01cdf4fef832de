"""Rotary positions before the projections, against a loop, alone and beside padding, and what they do not go with."""

from functools import partial
from typing import Any

import pytest
import torch

import zoo
from zoo.core import Attention, Lengths, Tokens, Window
from zoo.errors import ConfigError
from zoo.plugins.conformer.rotary_input import RotaryInputAttention, with_rotary_input


def test_queries_and_keys_are_of_turned_vectors_and_values_are_not() -> None:
    layer = RotaryInputAttention(8, 2).double()
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    half = torch.arange(2).double()
    turned = torch.empty_like(x)
    for n in range(5):
        angle = n * 10_000.0 ** (-half / 2)
        for h in range(2):
            a, b = x[0, n, 4 * h : 4 * h + 2], x[0, n, 4 * h + 2 : 4 * h + 4]
            turned[0, n, 4 * h : 4 * h + 4] = torch.cat(
                [a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()]
            )
    q, k, v = layer.qkv(turned).chunk(3, -1)[0], layer.qkv(turned).chunk(3, -1)[1], layer.qkv(x).chunk(3, -1)[2]
    heads = [each.unflatten(-1, (2, 4)).transpose(1, 2) for each in (q, k, v)]
    wanted = layer.out(torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(Tokens(x)), wanted)


@pytest.mark.usefixtures("float64")
def test_a_row_beside_padding_is_answered_as_alone() -> None:
    model: Any = zoo.create("conformer-tiny", stem="vectors", position="rotary-input", task="features").eval()
    x = torch.randn(3, 9, 96)
    y = model(x, torch.tensor([9, 2, 5]))
    for row, n in enumerate((9, 2, 5)):
        torch.testing.assert_close(y[row, :n], model(x[row : row + 1, :n])[0])
    swapped = model(x[:1].flip(1)).flip(1)
    assert (swapped - y[:1]).abs().max() > 1e-3  # positions tell


def test_it_keeps_a_pattern_and_nothing_else() -> None:
    layer = with_rotary_input(partial(Attention, pattern=Window(1)))(8, 2)
    weights = layer.weights(Tokens(torch.randn(1, 6, 8), keys=Lengths(torch.tensor([6]))))
    assert (weights[0, 0, 3] > 0).tolist() == [False, False, True, True, True, False]
    with pytest.raises(ConfigError, match="position='rotary-input' turns what a softmax attention projects"):
        zoo.create("conformer-tiny", position="rotary-input", attention="linear")
