"""Costs of the families: the exponents of arXiv:1706.03762 table 1 hold for the operations that are counted."""

from typing import Any

import pytest
import torch

from zoo.bench.length import costs
from zoo.bench.length.costs import exponent, layer, model, operations, stepwise
from zoo.bench.length.families import FAMILIES, AttentionMixer, draw_vectors
from zoo.core import Attention, Causal, Tokens

LENGTHS, DIMS = (256, 512), (32, 64, 128)


@pytest.mark.parametrize("family", FAMILIES)
def test_operations_grow_as_the_paper_says(family: str) -> None:
    growth = FAMILIES[family].growth
    lengths, length = ((8, 16), 4) if family in ("LSTM", "GRU") else (LENGTHS, 64)  # each step costs the same
    counted = [[operations(family, each, 32) for each in lengths], [operations(family, length, dim) for dim in DIMS]]
    said = [[growth(each, 32) for each in lengths], [growth(length, dim) for dim in DIMS]]
    for sizes, ours, theirs in zip((lengths, DIMS), counted, said, strict=True):
        assert exponent(sizes, ours) == pytest.approx(exponent(sizes, theirs), abs=0.08)


def test_the_projections_of_attention_are_not_counted() -> None:
    assert operations("full attention", 16, 8) == 2 * (2 * 16 * 16 * 8)
    assert operations("retention", 16, 8) == 2 * (2 * 16 * 16 * 8 + 2 * 16 * 8 * 2)


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
    assert "stepwise_seconds" not in found
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


@pytest.mark.parametrize("family", [name for name in FAMILIES if "convolution" not in name])
def test_token_by_token_gives_what_the_whole_sequence_does(family: str) -> None:
    mixer: Any = FAMILIES[family].mixer(8).eval()
    x = draw_vectors(150, 8)
    with torch.no_grad():
        whole = mixer.attention(Tokens(x, Causal())) if isinstance(mixer, AttentionMixer) else mixer(x)
        torch.testing.assert_close(stepwise(mixer.decoder, x), whole[:, 1:], atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("family", ["delta rule", "GRU", "dilated convolution"])
def test_the_width_at_which_the_length_varies_is_measured_token_by_token(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "LAYER_DIMS", (4, 8, 16))
    monkeypatch.setattr(costs, "ROUNDS", 1)
    found = layer({"family": family, "length": 5, "dim": 8})
    assert found.get("stepwise_seconds", 0) > 0 or "convolution" in family
