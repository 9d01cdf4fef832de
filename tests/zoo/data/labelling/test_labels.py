"""Names of labels."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data.labelling.labels import labels_of, names_for, names_of, ranked
from zoo.errors import ConfigError, DataError, InputError, WeightsError
from zoo.plugins.shared.text.tokenizer import Tokenizer


def test_names_stand_once_in_alphabetical_order() -> None:
    assert names_of(["b", "a", "b"], "x.tsv") == ["a", "b"]


def test_one_label_is_too_few() -> None:
    with pytest.raises(DataError, match=r"x.tsv has 1 label \(a\)"):
        names_of(["a", "a"], "x.tsv")


def test_labels_of_which_most_occur_once_are_refused() -> None:
    labels = ["a", "a", "b" * 99, "c", "d", "d", "e"]
    told = (
        rf"x.tsv: 3 of its 5 labels occur once, such as '{'b' * 40}…', 'c', 'e'\. No label is learned from one .* Try y"
    )
    with pytest.raises(DataError, match=told):
        names_of(labels, "x.tsv", "Try y.")
    assert names_of([*labels, "c"], "x.tsv") == ["a", "b" * 99, "c", "d", "e"]


def test_an_answer_has_as_many_names_as_labels_or_their_numbers() -> None:
    assert names_for(["a", "b"], 2) == ["a", "b"]
    assert names_for([], 3) == ["0", "1", "2"]
    with pytest.raises(ConfigError, match=r"an answer of 3 labels: labels\.json names 2"):
        names_for(["a", "b"], 3)


def test_vectors_have_no_names() -> None:
    vectors = "an answer of 8 numbers each holds vectors, not scores of labels: task='features' and num_classes=0"
    for config in ({"dim": 8}, {"dim": 8, "num_classes": 0}, {"dim": 8, "num_classes": 3}, {"task": "features"}):
        with pytest.raises(InputError, match=vectors):
            names_for([], 8, config)
    assert len(names_for([], 8, {"dim": 8, "num_classes": 8})) == len(names_for([], 8, {"dim": 4})) == 8
    assert names_for(["a", "b"], 2, {"dim": 2}) == ["a", "b"]


@pytest.mark.parametrize("options", [{"task": "features"}, {"num_classes": 0}])
@pytest.mark.parametrize("name", ["bert-tiny", "speech-tiny", "conformer-tiny", "graph-tiny", "vit-micro"])
def test_no_modality_invents_labels_of_vectors(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"depth": 1, "vocab_size": 260} if name == "bert-tiny" else {"depth": 1}
    model = zoo.create(name, **sizes, **options).eval()
    folder = f"local-dir:{zoo.weights.save(model, tmp_path)}"
    if zoo.info(name).modality == "text":
        Tokenizer.byte_level().save(tmp_path / "tokenizer.json")
    answer = model(*zoo.example(folder)).detach()
    for reference in (name, folder):
        with pytest.raises((InputError, ConfigError), match=r"holds vectors|read as it is, vectors or scores"):
            zoo.postprocess(reference)(answer)
    with pytest.raises(ConfigError, match=r"without labels: it returns feature vectors"):
        zoo.Pipeline(folder).predict(["an input"])


def test_labels_are_ranked_by_probability() -> None:
    assert list(ranked(torch.tensor([0.25, 0.5, 0.125]), ["a", "b", "c"]).items()) == [
        ("b", 0.5),
        ("a", 0.25),
        ("c", 0.125),
    ]


def test_labels_are_read_beside_the_weights(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps(["no", "yes"]))
    config = {"repository": f"local-dir:{tmp_path}"}
    assert labels_of(config) == labels_of({**config, "num_classes": 2}) == ["no", "yes"]
    assert labels_of({}) == []
    with pytest.raises(WeightsError, match=r"2 names, the model 3 labels"):
        labels_of({**config, "num_classes": 3})


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[1, 2]"])
def test_a_file_that_is_no_list_of_names_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.json").write_text(text)
    with pytest.raises(WeightsError, match=r"labels\.json"):
        labels_of({"repository": f"local-dir:{tmp_path}"})
