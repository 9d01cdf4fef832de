"""`model.explore` and the page that it gives."""

import pickle
from copy import deepcopy
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import nn

import zoo
from zoo.core import Encoder, Model, Tokens
from zoo.core.layers.heads import head
from zoo.core.mechanisms.gated_cross import open_gates
from zoo.errors import ConfigError, InputError
from zoo.viz.explorer import exploration
from zoo.viz.explorer.exploration import explore, visible
from zoo.viz.methods.gradient_weighted import gradient_weighted, scores_of

SIZE: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16}
pytestmark = pytest.mark.usefixtures("one_thread")


def micro() -> Any:
    return zoo.create("vit-micro", **SIZE)


def test_a_model_shows_a_page_in_a_notebook_and_saves_it(tmp_path: Path) -> None:
    model = micro().train()
    found = model.explore(*zoo.example("vit-micro", 1))
    assert model.training
    frame = found._repr_html_()
    assert frame.startswith("<iframe")
    assert unescape(frame.partition('srcdoc="')[2].removesuffix('"></iframe>')) == found.html
    assert found.save(tmp_path / "a.html").read_text(encoding="utf-8") == found.html
    assert repr(found).startswith("Exploration(vit-micro; ")
    with pytest.raises(ConfigError, match=r"no/a\.html' cannot be written"):
        found.save(tmp_path / "no" / "a.html")


def test_raw_inputs_are_prepared_and_two_stand_side_by_side(tmp_path: Path) -> None:
    Image.linear_gradient("L").save(tmp_path / "a.png")
    model = micro()
    one, two = model.explore(str(tmp_path / "a.png")), model.explore(*zoo.example("vit-micro", 1), title="random")
    both = one.beside(two)
    assert [pane.title for pane in both.panes] == [f"vit-micro: {tmp_path / 'a.png'}", "random"]
    with pytest.raises(InputError, match=r"lost\.png"):
        model.explore(str(tmp_path / "lost.png"))


def test_pictures_in_memory_are_prepared_like_files(tmp_path: Path) -> None:
    picture = Image.linear_gradient("L")
    picture.save(tmp_path / "a.png")
    model = micro()
    (read,) = model.explore(tmp_path / "a.png").panes
    (one,) = model.explore(picture).panes
    assert (one.maps[0].weights == read.maps[0].weights).all()
    assert [pane.title for pane in model.explore([picture, picture], title="two").panes] == [
        "two: input 1",
        "two: input 2",
    ]
    text: Any = zoo.create("transformer-tiny", **SIZE)
    assert [pane.title for pane in text.explore("ab", "c", max_len=1).panes] == [
        "transformer-tiny: ab",
        "transformer-tiny: c",
    ]
    with pytest.raises(InputError, match=r"explore\(\) of 3 inputs: a page shows 2"):
        model.explore([picture] * 3)


def test_a_network_of_timm_says_what_else_can_be_shown() -> None:
    model: Any = zoo.create("resnet-micro")
    with pytest.raises(ConfigError, match=r"'resnet-micro' has no attention weights: convolutions .* `zoo predict`"):
        model.explore(Image.linear_gradient("L"))


def test_inputs_and_choices_that_are_none_are_named() -> None:
    model = micro()
    with pytest.raises(InputError, match=r"explore\(\) of 'vit-micro' without an input: give images, or what"):
        model.explore()
    with pytest.raises(InputError, match=r"explore\(\) of 'vit-micro' without an input"):
        model.explore([])
    images = zoo.example("vit-micro", 1)
    with pytest.raises(InputError, match=r"'a\.png' beside tensors: give tensors, or it alone"):
        model.explore(*images, "a.png")
    with pytest.raises(ConfigError, match=r"layers='1' is no list of numbers: write layers=\[1, 3\]"):
        model.explore(*images, layers="1")
    with pytest.raises(ConfigError, match=r"heads=2 is no list of numbers"):
        model.explore(*images, heads=2)
    with pytest.raises(InputError, match=r"^int 3 is no image: give a path"):
        model.explore(3)


@pytest.mark.usefixtures("unchecked_shapes")
def test_numbers_of_a_writer_are_whole() -> None:
    with pytest.raises(ConfigError, match=r"beam='2' is no whole number"):
        zoo.create("transformer-tiny", **SIZE).explore("a", beam="2")


def test_a_writer_in_training_is_explored_as_one_in_evaluation() -> None:
    model: Any = zoo.create("transformer-tiny", **SIZE).train()
    first = model.explore("ab", max_len=2).panes[0].generation
    assert model.training
    assert first == model.eval().explore("ab", max_len=2).panes[0].generation


def test_an_answer_that_is_given_is_not_written_again() -> None:
    model: Any = zoo.create("transformer-tiny", **SIZE)
    with pytest.raises(ConfigError, match=r"beam=2: '.*' holds its answer already"):
        model.explore(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]]), beam=2)


def test_a_text_that_is_too_long_is_refused_before_a_model_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "write", None)
    for name in ("decoder-tiny", "transformer-tiny"):
        model: Any = zoo.create(name, **SIZE)
        with pytest.raises(InputError, match=r"^40,000 tokens: .* layers= and heads= do not help: give at most 4,898"):
            model.explore(torch.zeros(1, 40_000, dtype=torch.long))


def test_atoms_of_a_molecule_have_the_names_of_their_elements() -> None:
    pytest.importorskip("rdkit")
    model: Any = zoo.create("graph-tiny", **SIZE, virtual_nodes=1)
    (pane,) = model.explore("CCO").panes
    assert pane.sides["source"]["names"] == ["C 0", "C 1", "O 2", "added node 1"]
    assert pane.medium["names"] == ["C 0", "C 1", "O 2"]
    line = '{"x": [[0, 0, 0, 0, 0, 0, 0, 0, 0]], "edges": [[0, 0]], "edge_attr": [[0, 0, 0]]}'
    assert model.explore(line).panes[0].sides["source"]["names"][0] == "node 0"


def test_a_text_about_a_graph_is_written_and_explored() -> None:
    pytest.importorskip("torch_geometric")
    model: Any = zoo.join("graph-tiny", "transformer-tiny", encoder_config=SIZE, decoder_config=SIZE)
    for inputs in (("CCO",), zoo.preprocess("graph-tiny")("CCO")):
        (pane,) = model.explore(*inputs, max_len=3).panes
        assert {each.part for each in pane.maps if each.layer} == {"encoder", "decoder", "cross"}
        assert pane.generation["steps"]


def test_a_page_is_put_beside_a_page_and_saved_as_html(tmp_path: Path) -> None:
    found = zoo.create("vit-micro", **SIZE).explore(*zoo.example("vit-micro", 1))
    with pytest.raises(ConfigError, match=r"beside\(3\): another page of explore\(\) is wanted"):
        found.beside(3)
    with pytest.raises(ConfigError, match=r"a\.png'\): its ending is none of \.html, \.htm"):
        found.save(tmp_path / "a.png")


def test_a_writer_is_explored_while_it_writes() -> None:
    model: Any = zoo.create("transformer-tiny", **SIZE)
    (pane,) = model.explore("ab", max_len=3, beam=2).panes
    assert pane.sides["source"]["names"] == ["a", "b", "</s>"]
    assert pane.sides["target"]["names"][0] == "<s>"
    assert {each.part for each in pane.maps if each.layer} == {"encoder", "decoder", "cross"}
    assert pane.generation["steps"][0]["row"] == 0
    assert pane.generation["tree"]
    taught = model.explore(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]])).panes[0]
    assert len(taught.generation["steps"]) == 2


@pytest.mark.parametrize(("name", "beam"), [("joined:vit-micro+decoder-tiny", 2), ("decoder-tiny", 1)])
def test_gradients_are_those_of_the_tokens_that_were_written(name: str, beam: int) -> None:
    options: dict[str, Any] = {"decoder_config": SIZE} if "+" in name else {}
    model: Any = zoo.create(name, **SIZE, **options).eval()
    open_gates(model)
    inputs = zoo.example(name, 1)[:-1] if "+" in name else (torch.tensor([[1, 7, 9]]),)
    (pane,) = model.explore(*inputs, max_len=3, beam=beam).panes
    prompt = 1 if "+" in name else 3
    found = model.generate(*inputs, max_len=3, beam=beam)
    written = found.ids[0, 0].tolist()
    read = torch.tensor([[1, *written[:-1]] if "+" in name else [1, 7, 9, *written]])
    pairs = [(prompt - 1 + place, token) for place, token in enumerate(written)]
    part = "cross" if "+" in name else "decoder"
    expected: Any = gradient_weighted(model, (*inputs[:1], read) if "+" in name else (read,), scores_of(pairs))
    wanted = expected.cross if part == "cross" else expected.target - torch.eye(read.shape[1])
    (shown,) = (each.weights for each in pane.maps if each.part == f"gradient-weighted, {part}")
    size = min(len(shown), len(wanted))
    assert size >= 3
    torch.testing.assert_close(torch.from_numpy(shown)[:size, :size], wanted.clamp(min=0)[:size, :size])


def test_models_with_a_page_are_copied_and_pickled() -> None:
    model = micro()
    for copy in (deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert len(copy.explore(*zoo.example("vit-micro", 1), layers=(1,), heads=(2,)).panes[0].maps) == 1


@pytest.mark.usefixtures("offline")
def test_ids_are_their_own_names_where_no_tokenizer_can_be_read() -> None:
    model: Any = zoo.create("bert-tiny", **SIZE, vocab_size=20)
    (pane,) = model.explore(torch.tensor([[5, 6, 7, 0]]), torch.tensor([3])).panes
    assert pane.sides["source"]["names"] == ["5", "6", "7", "0"]
    assert pane.maps[0].summary["padding"] == 0


class Vectors(nn.Module):
    def forward(self, x: torch.Tensor) -> Tokens:
        return Tokens(x)


def test_a_model_without_a_name_says_what_to_call() -> None:
    model = Model(Vectors(), Encoder(8, 1, 2, 16), head("classify", 8, 3, pool="mean")).eval()
    with pytest.raises(ConfigError, match=r"Model was not made by zoo.create: zoo.viz.explorer"):
        model.explore(torch.randn(1, 4, 8))
    assert len(explore(model, torch.randn(1, 4, 8)).panes[0].maps) == 5


@pytest.mark.parametrize("beam", [1, 3])
def test_transcripts_that_ctc_proposes_and_a_decoder_scores_are_explored(beam: int) -> None:
    torch.manual_seed(0)
    model: Any = zoo.create("conformer-micro", task="generate", by="joint", vocab_size=12).eval()
    sounds = torch.randn(1, 8_000), torch.tensor([8_000])
    (pane,) = model.explore(*sounds, max_len=4, beam=beam).panes
    assert {each.part for each in pane.maps} >= {"encoder", "decoder", "cross"}


def test_what_cannot_be_explored_is_told() -> None:
    with pytest.raises(ConfigError, match="'lstm-lm-tiny' has no attention weights"):
        zoo.create("lstm-lm-tiny").explore("ab", max_len=2)
    with pytest.raises(ConfigError, match=r"beam=2: 'vit-micro' writes no tokens one by one"):
        micro().explore(*zoo.example("vit-micro", 1), beam=2)


def test_characters_that_cannot_be_seen_are_written_as_codes() -> None:
    assert visible("a\n\x02é") == "a\\n\\x02é"
