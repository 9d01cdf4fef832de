"""One graph whose nodes are trained, validated and tested by masks."""

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given
from zoo.data.purpose import to_judge

NODES = 30


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def masked(**changed: Any) -> Data:
    """Give a ring whose nodes tell their class, a third of them in each part."""
    place = torch.arange(NODES)
    ring = torch.stack([place, (place + 1) % NODES])
    data = Data(torch.eye(2)[place % 2], torch.cat([ring, ring.flip(0)], 1), y=3 + place % 2)
    for name, part in (("train_mask", 0), ("val_mask", 1), ("test_mask", 2)):
        data[name] = place // 2 % 3 == part
    for name, value in changed.items():
        data[name] = value
    return data


def opened(train: Any, **parts: Any) -> Any:
    return open_given(GivenData({"train": train} | parts), zoo.info("graph-tiny"))


@pytest.mark.parametrize("listed", [False, True])
def test_the_nodes_of_each_part_have_targets_in_the_whole_graph(listed: bool) -> None:
    corpus = opened([masked()] if listed else masked())
    assert (corpus.task, corpus.labels, corpus.overrides()["node_features"]) == ("tag", ["3", "4"], 2)
    for part, number in (("validation", 1), ("test", 2)):
        (batch,) = corpus.held_out(part, 4)
        assert len(batch.inputs[0]) == NODES
        wanted = [place % 2 if place // 2 % 3 == number else -100 for place in range(NODES)]
        assert batch.target.tolist() == wanted
    assert corpus.fingerprint == opened(masked()).fingerprint
    fewer = masked().test_mask & (torch.arange(NODES) < NODES // 2)
    assert corpus.fingerprint != opened(masked(test_mask=fewer)).fingerprint


def labelled(labels: dict[int, int]) -> torch.Tensor:
    """Give the classes with those of some nodes changed."""
    y = masked().y.clone()
    for node, label in labels.items():
        y[node] = label
    return y


def test_a_node_in_no_mask_needs_no_class() -> None:
    unmarked = torch.arange(NODES) != 4  # of test_mask
    for label in (-1, 7):
        corpus = opened(masked(test_mask=masked().test_mask & unmarked, y=labelled({4: label})))
        assert corpus.labels == ["3", "4"]
        for part in ("validation", "test"):
            (batch,) = corpus.held_out(part, 4)
            assert batch.target[4] == -100
            assert {-100, 0, 1} == {*batch.target.tolist()}


def test_large_labels_take_no_memory() -> None:
    corpus = opened(masked(y=masked().y * 10**15))
    assert corpus.labels == [f"3{'0' * 15}", f"4{'0' * 15}"]
    (batch,) = corpus.held_out("test", 4)
    assert batch.target[4:6].tolist() == [0, 1]


def test_masks_may_overlap_where_a_model_is_judged_alone() -> None:
    every = masked(train_mask=torch.ones(NODES).bool())
    with pytest.raises(DataError, match="10 nodes are in train_mask and val_mask: a node that is trained on cannot"):
        opened(every)
    with to_judge():
        (batch,) = opened(every).held_out("test", 4)
    assert int((batch.target >= 0).sum()) == NODES // 3


def test_nodes_are_learned_from_those_that_are_marked() -> None:
    trained = zoo.train("graph-tiny", masked(), steps=30, validations=2, depth=1)
    assert trained.scores["accuracy"] == 1
    found = zoo.evaluate(trained, masked(), samples=2)
    assert (found.count, found.scores["accuracy"].value) == (NODES // 3, 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"val_mask": None}, r"train\[0\] has train_mask and no val_mask: .* as .*RandomNodeSplit makes them"),
        (
            {"test_mask": torch.ones(NODES, 2).bool()},
            r"shape \(30, 2\) of torch.bool: .*test_mask = data.test_mask\[:, 0",
        ),
        ({"val_mask": torch.zeros(NODES).bool()}, "val_mask has no node: mark at least one"),
        ({"y": torch.rand(NODES)}, r"y is Tensor of shape \(30,\) of torch.float32: a class, 0 or more, is wanted"),
        ({"y": torch.zeros(NODES, dtype=torch.long)}, "all nodes of train_mask are of class 0: mark nodes of at least"),
        ({"test_mask": torch.arange(NODES) < 5}, "2 nodes are in train_mask and test_mask"),
        ({"test_mask": torch.arange(NODES) < 1}, "1 node is in train_mask and test_mask"),
        ({"y": labelled({8: -2, 3: -1})}, "y of node 3 is -1: a class, 0 or more, is wanted of a node in val_mask"),
        ({"y": torch.arange(NODES)}, "labels 2, 3, 8, 9, 14 of validation are in no training example"),
    ],
)
def test_what_does_not_fit_is_told(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        opened(masked(**changed))


def test_masks_are_those_of_one_graph_alone() -> None:
    with pytest.raises(DataError, match="which parts the nodes of one graph: give it alone"):
        opened([masked(), masked()])
    with pytest.raises(DataError, match="which parts the nodes of one graph: give it alone"):
        opened(masked(), test=masked())
