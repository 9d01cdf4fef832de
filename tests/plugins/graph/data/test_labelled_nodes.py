"""Graphs with a label for each node."""

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def path_graph(nodes: int, first: float = 0.0) -> Data:
    ends = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    x = torch.stack([torch.full((nodes,), first), torch.arange(nodes) % 2], 1).float()
    return Data(x, torch.cat([ends, ends.flip(0)], 1), y=torch.arange(nodes) % 2)


def opened(train: Any, **parts: Any) -> Any:
    return open_given(GivenData({"train": train} | parts), zoo.info("graph-tiny"))


def test_each_node_has_the_class_of_its_label() -> None:
    corpus = opened([path_graph(3 + place % 5, place) for place in range(20)], test=[path_graph(4, 50.0)])
    assert (corpus.task, corpus.labels, corpus.overrides()["node_features"]) == ("tag", ["0", "1"], 2)
    (batch,) = corpus.held_out("test", 4)
    assert batch.target.tolist() == [0, 1, 0, 1]
    assert batch.inputs[0][:, 0].tolist() == [50.0] * 4
    assert all(corpus.sizes[part] for part in ("train", "validation"))
    assert corpus.fingerprint != opened([path_graph(3 + place % 5, place) for place in range(20)]).fingerprint


def test_labels_of_nodes_are_learned_and_judged() -> None:
    graphs = [path_graph(3 + place % 5, place / 20) for place in range(40)]
    trained = zoo.train("graph-tiny", graphs, steps=60, batch_size=8, validations=2, depth=1)
    assert trained.scores["accuracy"] > 0.9
    found = zoo.evaluate(trained, graphs[:10], samples=3)
    assert found.count == 10
    assert found.scores["accuracy"].value > 0.9
    alone = path_graph(4)
    alone.y = torch.zeros(4, dtype=torch.long)  # one graph, of one label
    assert zoo.evaluate(trained, [alone], samples=2).count == 4
    alone.y = torch.full((4,), 7)
    with pytest.raises(DataError, match="has the label 7, which 'graph-tiny' lacks; it has 0, 1"):
        zoo.evaluate(trained, [alone], samples=2)


def test_what_does_not_fit_is_told() -> None:
    graphs = [path_graph(4, place) for place in range(12)]
    strange = path_graph(4)
    strange.y = torch.full((4,), 7)
    with pytest.raises(DataError, match="label 7 of validation are in no training example, which have 0, 1"):
        opened(graphs, validation=[strange], test=graphs[:1])
    with pytest.raises(DataError, match="1 different graphs to train on: too few to draw validation and test from"):
        opened(graphs[:1])
    with pytest.raises(DataError, match=r"train\[1\] has no label for each node"):
        opened([graphs[0], ((graphs[1].x, graphs[1].edge_index), "a"), *graphs[2:]])
