"""Panes of models of each modality: maps, sides, methods, and why one is missing."""

from typing import Any

import pytest
import torch

import zoo
from zoo.errors import InputError
from zoo.viz.explorer.pane import MOST, Read, pane_of
from zoo.viz.recorder import Selection

SIZE: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16}
pytestmark = pytest.mark.usefixtures("one_thread")


ALL = Selection(most=MOST)


def pane(name: str, chosen: Selection = ALL, **config: Any) -> Any:
    model = zoo.create(name, **SIZE | config).eval()
    return pane_of(model, Read(name, zoo.example(name, 1)), chosen)


def test_a_picture_has_named_patches_heads_and_methods() -> None:
    found = pane("vit-tiny", image_size=224)
    names = found.sides["source"]["names"]
    assert (names[0], names[1], names[-1]) == ("class token", "row 1, column 1", "row 14, column 14")
    heads = [(each.layer, each.head) for each in found.maps if each.layer]
    assert heads == [(1, 1), (1, 2), (2, 1), (2, 2)]
    methods = [each.part for each in found.maps if not each.layer]
    assert methods == [
        "rollout of encoder, mean of heads",
        "rollout of encoder, max of heads",
        "gradient-weighted, encoder",
    ]
    assert all("arXiv" in each.caveat for each in found.maps if not each.layer)
    assert found.notes == []
    assert 0 < found.maps[0].summary["distance"] < 20


def test_a_sound_counts_seconds() -> None:
    found = pane("speech-tiny", window=640)
    assert found.sides["source"]["names"][:2] == ["0.00 s", "0.04 s"]
    assert found.medium["kind"] == "sound"


def test_a_graph_has_nodes_without_order() -> None:
    found = pane("graph-small")
    assert found.sides["source"]["names"][0] == "node 0"
    assert found.medium["edges"]
    assert found.maps[0].summary["distance"] is found.maps[0].summary["previous"] is None


def test_weights_that_are_no_shares_have_neither_method() -> None:
    found = pane("decoder-tiny", attention="delta")
    assert [each.layer for each in found.maps] == [1, 1, 2, 2]
    assert any("some are negative" in note for note in found.notes)
    assert any("gradients weight softmax attention only" in note and "Delta" not in note for note in found.notes)


def test_a_choice_leaves_methods_out_and_says_so() -> None:
    found = pane("vit-micro", Selection(layers=(2,), heads=(1,), most=MOST))
    assert [(each.layer, each.head) for each in found.maps] == [(2, 1)]
    assert "need all parts, layers and heads" in found.notes[0]


def test_a_page_of_too_many_tokens_names_layers_and_heads() -> None:
    model: Any = zoo.create("decoder-tiny", **SIZE).eval()
    ids = torch.zeros(1, 40_000, dtype=torch.long)
    told = r"40,000 vectors read 40,000, .* 24,000,000 weights .* layers= and heads= do not help, .* 4,898 vectors"
    with pytest.raises(InputError, match=told):
        pane_of(model, Read("long", (ids,)), Selection(most=MOST))


def test_what_a_decoder_reads_of_a_convolutional_encoder_lies_over_the_picture() -> None:
    name = "joined:resnet-micro+decoder-tiny"
    model: Any = zoo.join("resnet-micro", "decoder-tiny", decoder_config=SIZE).eval()
    inputs = zoo.example(name, 1)
    found = pane_of(model, Read(name, inputs), ALL)
    count = model.encode(*inputs[:-1]).x.shape[1]
    assert found.medium is not None
    assert (found.medium["grid"], found.medium["prefix"]) == ([int(count**0.5)] * 2, 0)
    assert found.sides["source"]["names"][-1] == f"row {int(count**0.5)}, column {int(count**0.5)}"
    assert {each.weights.shape[1] for each in found.maps if each.part == "cross"} == {count}


def test_means_of_an_encoders_vectors_stand_in_a_pane_of_their_own() -> None:
    name = "joined:bert-micro+decoder-tiny"
    model = zoo.join("bert-micro", "decoder-tiny", "pool:2", encoder_config=SIZE, decoder_config=SIZE).eval()
    read = Read(name, zoo.example(name, 1))
    found = pane_of(model, read, ALL)
    assert "cross" not in {each.part for each in found.maps if each.layer}
    assert "The decoder reads 2 means of the encoder's vectors: --part cross shows how." in found.notes
    alone = pane_of(model, read, Selection(part="cross", most=MOST))
    assert {each.weights.shape[1] for each in alone.maps} == {2} == {len(alone.sides["source"]["names"])}
