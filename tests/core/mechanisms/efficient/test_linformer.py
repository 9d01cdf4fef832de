"""Linformer with E = F = 1 is softmax attention; its length and its K are bounded."""

import pytest
import torch

from zoo.core import Attention, ConfigError, InputError, Lengths, Tokens
from zoo.core.mechanisms.efficient.linformer import linformer

X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@torch.no_grad()
def test_with_k_the_length_and_e_and_f_the_identity_it_is_softmax_attention() -> None:
    layer, softmax = linformer("6", "6")(8, 2).double(), Attention(8, 2).double()
    one = torch.eye(6, dtype=torch.float64)
    layer.load_state_dict({**softmax.state_dict(), "of_keys": one, "of_values": one})
    torch.testing.assert_close(layer(Tokens(X)), softmax(Tokens(X)))
    torch.testing.assert_close(layer.weights(Tokens(X)), softmax.weights(Tokens(X)))


@torch.no_grad()
def test_padding_is_masked_before_the_product_with_e_and_f() -> None:
    layer, padded = linformer("3", "6")(8, 2).double(), X.clone()
    padded[0, 4:] = torch.nan
    y = layer(Tokens(padded, keys=Lengths(torch.tensor([4, 6]))))
    torch.testing.assert_close(y[:1, :4], layer(Tokens(X[:1, :4])))


@torch.no_grad()
def test_random_projections_keep_the_length_of_what_they_project() -> None:
    torch.manual_seed(0)
    layer, x = linformer("64", "256")(8, 2), torch.randn(256, 500)
    for projection in (layer.of_keys, layer.of_values):
        assert float(((projection @ x).norm(dim=0) / x.norm(dim=0)).mean()) == pytest.approx(1, abs=0.03)


def test_more_places_than_there_are_and_longer_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="K=7 is above length=6: there are no more places to project to"):
        linformer("7", "6")(8, 2)
    with pytest.raises(ConfigError, match="K='0' is no whole number from 1 on"):
        linformer("0")
    with pytest.raises(InputError, match="a row of 6 for Linformer of length=5, whose matrices have no place behind"):
        linformer("3", "5")(8, 2)(Tokens(X.float()))


@torch.no_grad()
def test_keys_are_projected_by_e_and_values_by_f() -> None:
    layer = linformer("3", "6")(8, 2).double()
    q, k, v = (part.transpose(1, 2) for part in layer.project(X))
    weights = (q @ (layer.of_keys @ k).mT / 2).softmax(-1)  # heads of 4 channels
    mixed = weights @ (layer.of_values @ v)
    torch.testing.assert_close(layer(Tokens(X)), layer.out(mixed.transpose(1, 2).flatten(2)))


@torch.no_grad()
def test_a_shorter_row_uses_the_first_columns() -> None:
    layer, short = linformer("3", "9")(8, 2).double(), linformer("3", "6")(8, 2).double()
    short.load_state_dict({**layer.state_dict(), "of_keys": layer.of_keys[:, :6], "of_values": layer.of_values[:, :6]})
    torch.testing.assert_close(layer(Tokens(X)), short(Tokens(X)))
