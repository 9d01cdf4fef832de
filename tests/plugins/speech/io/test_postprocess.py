"""From answers to what users read: labels, texts, and a label for each 40 ms; from a folder that a training wrote."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.core.generation.loop import Generated
from zoo.errors import ConfigError, InputError, WeightsError
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.speech.io.postprocess import Postprocess

Write = Callable[..., Path]


@pytest.fixture
def placed(tmp_path: Path) -> dict[str, Any]:
    """Lay labels and a tokenizer beside the weights of a model."""
    (tmp_path / "labels.json").write_text(json.dumps(["yes", "no", "maybe"]))
    choose_tokenizer("word", "", ["one two"]).save(tmp_path / "tokenizer.json")
    return {"repository": f"local-dir:{tmp_path}", "vocab_size": 6}


def test_scores_become_labels_with_probabilities_the_likeliest_first(placed: dict[str, Any]) -> None:
    scores = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    first, second = Postprocess(placed)(scores)
    assert list(first) == ["no", "maybe", "yes"]
    assert next(iter(second)) == "yes"
    assert first["no"] == pytest.approx(float(scores[0].softmax(0)[1]))


def test_ids_become_texts_up_to_their_end(placed: dict[str, Any]) -> None:
    show = Postprocess(placed)
    assert show(torch.tensor([[4, 5, 2, 4], [5, 5, 5, 5]])) == ["one two", "two two two two"]
    assert show([[4, 2], []]) == ["one", ""]
    written = Generated(torch.tensor([[[5, 4, 2]]]), torch.tensor([[2]]), torch.zeros(1, 1))
    assert show(written) == ["two one"]


def test_each_vector_of_a_sound_becomes_a_label_and_those_behind_its_end_none(
    placed: dict[str, Any], write: Write
) -> None:
    scores = torch.eye(3)[torch.tensor([[0, 1, 2, 2, 1], [2, 2, 2, 2, 2]])]
    sounds = [write("a.wav", seconds=0.2), write("b.wav", seconds=0.1)]  # 18 and 8 frames
    assert Postprocess(placed)(scores, sounds) == [["yes", "no", "maybe", "maybe", "no"], ["maybe", "maybe"]]
    assert [len(row) for row in Postprocess(placed)(scores)] == [5, 5]


def test_without_names_labels_are_numbers_and_ids_are_bytes() -> None:
    show = Postprocess({})
    assert list(show(torch.tensor([[0.0, 1.0]]))[0]) == ["1", "0"]
    assert show([[4 + ord("h"), 4 + ord("i"), 2]]) == ["hi"]


def test_what_does_not_fit_is_refused(placed: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"an answer of shape \(0, 3\)"):
        Postprocess(placed)(torch.zeros(0, 3))
    with pytest.raises(ConfigError, match=r"an answer of 2 labels: labels\.json names 3"):
        Postprocess(placed)(torch.zeros(1, 2))
    with pytest.raises(ConfigError, match="has 6 tokens, more than the model's vocab_size=5"):
        Postprocess(placed | {"vocab_size": 5})([[4]])
    larger = Postprocess(placed | {"vocab_size": 9})
    assert larger([[4, 8]]) == larger([[4]])
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(WeightsError, match=r"has neither a tokenizer\.json nor a vocab\.json"):
        Postprocess(placed)([[4]])


def test_a_recogniser_of_bytes_that_was_saved_alone_writes(tmp_path: Path) -> None:
    zoo.weights.save(zoo.create("speech-micro", task="generate", depth=1), tmp_path)
    assert zoo.postprocess(f"local-dir:{tmp_path}")([[4 + ord("h"), 4 + ord("i"), 2]]) == ["hi"]


def test_a_name_gives_it() -> None:
    assert isinstance(zoo.postprocess("speech-tiny"), Postprocess)
    assert isinstance(zoo.postprocess("conformer-tiny"), Postprocess)
