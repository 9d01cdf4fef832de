"""From answers to labels and numbers."""

import json
from pathlib import Path

import pytest
import torch

from zoo.errors import ConfigError, InputError
from zoo.plugins.graph.io.postprocess import Postprocess

SCORES = torch.tensor([[0.0, 2.0], [1.0, -1.0]])


@pytest.fixture
def named(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "labels.json").write_text(json.dumps(["safe", "toxic"]), encoding="utf-8")
    return {"repository": f"local-dir:{tmp_path}", "num_classes": 2}


def test_graphs_get_the_probability_of_each_class(named: dict[str, object]) -> None:
    first, second = Postprocess(named)(SCORES)
    assert list(first) == ["toxic", "safe"]
    assert first["toxic"] == pytest.approx(float(SCORES[0].softmax(0)[1]))
    assert list(second) == ["safe", "toxic"]


def test_labels_have_a_probability_each(named: dict[str, object]) -> None:
    first, _ = Postprocess({**named, "target": "labels"})(SCORES)
    assert first == {"toxic": pytest.approx(float(SCORES[0, 1].sigmoid())), "safe": 0.5}


def test_numbers_are_given_by_name(named: dict[str, object]) -> None:
    assert Postprocess({**named, "target": "numbers"})(SCORES) == [
        {"safe": 0.0, "toxic": 2.0},
        {"safe": 1.0, "toxic": -1.0},
    ]


def test_nodes_get_their_label_graph_by_graph() -> None:
    read = Postprocess({"task": "tag"})
    assert read(SCORES) == ["1", "0"]
    assert read(SCORES, torch.tensor([1, 1])) == [[], ["1", "0"]]
    assert Postprocess({"task": "tag", "target": "labels"})(SCORES) == [["1"], ["0"]]


def test_links_get_a_probability() -> None:
    assert Postprocess({"task": "link"})(torch.tensor([0.0, 100.0])) == [0.5, 1.0]
    assert [list(each) for each in Postprocess({"task": "link"})(SCORES)] == [["1", "0"], ["0", "1"]]


def test_what_is_no_answer_is_refused(named: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"an answer of shape \(2,\) is not one of scores"):
        Postprocess({})(torch.zeros(2))
    with pytest.raises(ConfigError, match=r"an answer of 3 labels: labels.json names 2"):
        Postprocess(named)(torch.zeros(1, 3))
    with pytest.raises(InputError, match=r"batch of shape \(3,\) for an answer of 2 nodes"):
        Postprocess({"task": "tag"})(SCORES, torch.zeros(3))
