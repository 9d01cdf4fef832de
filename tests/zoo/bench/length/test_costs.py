"""Costs of the families: the exponents of arXiv:1706.03762 table 1 hold for the operations that are counted."""

import pytest
import torch

from zoo.bench.length import costs
from zoo.bench.length.costs import exponent, layer, model, operations
from zoo.bench.length.families import FAMILIES, AttentionMixer, RecurrentMixer, draw_vectors
from zoo.core import Attention, Causal, Tokens

LENGTHS, DIMS = (256, 512, 1024), (32, 64, 128)


@pytest.mark.parametrize("family", FAMILIES)
def test_operations_grow_as_the_paper_says(family: str) -> None:
    of_n = exponent(LENGTHS, [operations(family, length, 32) for length in LENGTHS])
    of_d = exponent(DIMS, [operations(family, 256, dim) for dim in DIMS])
    assert (of_n, of_d) == pytest.approx(FAMILIES[family].exponents, abs=0.08)


def test_an_exponent_is_that_of_a_power_law_and_scale_free() -> None:
    assert exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)
    assert exponent([10, 100], [5, 5]) == pytest.approx(0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_layer_and_a_model_are_measured(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "ROUNDS", 1)
    found = layer({"family": family, "length": 12, "dim": 8})
    assert found["seconds"] > 0
    assert found["operations"] > 0
    assert ("decoding_seconds" in found) == ("convolution" not in family)
    assert all(value > 0 for value in model({"family": family, "length": 12}).values())


def test_memory_of_full_attention_grows_with_the_length() -> None:
    short, long = (model({"family": "full attention", "length": length})["bytes"] for length in (32, 128))
    assert long > 2 * short


@pytest.mark.parametrize("make", [Attention, lambda dim, heads: FAMILIES["linear attention"].mixer(dim).attention])
def test_a_step_of_decoding_attends_to_all_that_was_read(make: object) -> None:
    mixer = AttentionMixer(make, 8).eval()  # type: ignore[arg-type]
    x = draw_vectors(6, 8)
    with torch.no_grad():
        whole = mixer.attention(Tokens(x, Causal()))
        torch.testing.assert_close(mixer.decoder(x[:, :5])(x[:, 5:]), whole[:, 5:])


def test_a_step_of_an_lstm_goes_on_from_its_state() -> None:
    mixer = RecurrentMixer(torch.nn.LSTM, 8)
    x = draw_vectors(6, 8)
    stepped = mixer.decoder(x[:, :5])(x[:, 5:])
    assert isinstance(stepped, tuple)
    torch.testing.assert_close(stepped[0], mixer(x)[:, 5:])
