"""Names of labels."""

import json
from pathlib import Path

import pytest
import torch

from zoo.data.labels import labels_of, names_for, names_of, ranked
from zoo.errors import ConfigError, DataError, WeightsError


def test_names_stand_once_in_alphabetical_order() -> None:
    assert names_of(["b", "a", "b"], "x.tsv") == ["a", "b"]


def test_one_label_is_too_few() -> None:
    with pytest.raises(DataError, match=r"x.tsv has 1 label \(a\)"):
        names_of(["a", "a"], "x.tsv")


def test_an_answer_has_as_many_names_as_labels_or_their_numbers() -> None:
    assert names_for(["a", "b"], 2) == ["a", "b"]
    assert names_for([], 3) == ["0", "1", "2"]
    with pytest.raises(ConfigError, match=r"an answer of 3 labels: labels\.json names 2"):
        names_for(["a", "b"], 3)


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
