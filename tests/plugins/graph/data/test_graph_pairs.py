from typing import Any

import networkx
import pytest
import torch
from torch_geometric.data import Data

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given

SPEC = zoo.info("graph-tiny")


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def ring(place: int) -> tuple[torch.Tensor, torch.Tensor]:
    nodes = torch.arange(3 + place % 4)
    return torch.full((len(nodes), 2), float(place)), torch.stack([nodes, nodes.roll(1)])


def opened(train: Any, **parts: Any) -> Any:
    return open_given(GivenData({"train": train} | parts), SPEC)


def test_tensors_and_data_of_pyg_are_the_same_graphs() -> None:
    pairs = opened([(ring(place), place % 2) for place in range(24)])
    data = opened([Data(*ring(place), y=torch.tensor([place % 2])) for place in range(24)])
    assert pairs.fingerprint == data.fingerprint
    assert pairs.metric == "accuracy"
    assert pairs.overrides()["node_features"] == 2


def test_the_parts_that_are_given_stay() -> None:
    corpus = opened([(ring(place), place % 2) for place in range(20)], validation=[(ring(50), 0), (ring(51), 1)])
    batch = next(corpus.held_out("validation", 8))
    assert corpus.sizes["validation"] == 2
    assert set(batch.inputs[0].flatten().tolist()) == {50.0, 51.0}


def test_numbers_and_labels_of_nodes_are_targets_too() -> None:
    assert opened([(ring(place), 0.5 * place + 0.1) for place in range(24)]).metric == "r2"
    nodes = opened([(ring(place), ["a"] * (len(ring(place)[0]) - 1) + ["b"]) for place in range(24)])
    assert (nodes.task, nodes.graph_task.target, nodes.labels) == ("tag", "class", ["a", "b"])


def test_molecules_have_names_as_classes_numbers_and_labels() -> None:
    molecules = [f"{'C' * count}{ring}" for count in range(1, 9) for ring in ("c1ccccc1", "C1CCCCC1", "c1ccncc1")]
    kinds = ({"sweet", "toxic"}, "class"), ({0.5, 1.5}, "numbers"), ({0, 1}, "labels")
    for values, kind in kinds:
        pairs = [(each, sorted(values)[place % 2]) for place, each in enumerate(molecules)]
        corpus: Any = open_given(GivenData({"train": pairs}, {"draw": "random"}), SPEC)
        assert corpus.graph_task.target == kind
        assert kind != "class" or corpus.labels == ["sweet", "toxic"]


def test_molecules_without_rings_cannot_be_parted_by_them() -> None:
    with pytest.raises(DataError, match=r": columns=\{'draw': 'random'\} parts them"):
        opened([("C" * count, float(count)) for count in range(1, 20)])


def test_a_label_that_no_training_example_has_is_named() -> None:
    molecules = [("C" * place + "c1ccccc1", "ab"[place % 2]) for place in range(12)]
    rings = [(ring(place), "ab"[place % 2]) for place in range(12)]
    for train, other in ((molecules, ("CCO", "q")), (rings, (ring(20), "q"))):
        with pytest.raises(DataError, match="label q of validation are in no training example, which have a, b"):
            opened(train, validation=[other, train[0], train[1]], test=train[:2])


def test_graphs_of_networkx() -> None:
    assert opened([(networkx.cycle_graph(3 + place % 5), place % 2) for place in range(24)]).sizes["train"] > 10


def test_items_that_are_no_graphs_with_a_target() -> None:
    with pytest.raises(DataError, match=r"train\[0\] is Data .*: a pair \(graph, target\) or a Data with y is wanted"):
        opened([Data(*ring(0))])
    with pytest.raises(DataError, match=r"train\[0\]: int where graphs belong"):
        opened([(5, 1)])
    with pytest.raises(DataError, match=r"train\[0\]: 2 labels for 3 nodes"):
        opened([(ring(0), ["a", "b"])])
