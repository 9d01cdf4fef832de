from typing import Any

import pytest
import torch

import zoo
from zoo.data.batches.batched_corpus import DatasetInfo
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

ABOUT = DatasetInfo("few", "Few graphs.", "0")


def path_graph(nodes: int, target: torch.Tensor) -> Example:
    ends = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    return Example(GraphInputs(torch.randn(nodes, 2), torch.cat([ends, ends.flip(0)], 1)), target)


def few(graph_task: GraphTask, targets: list[torch.Tensor]) -> GraphsCorpus:
    parts = {
        name: [path_graph(3 + place, t) for place, t in enumerate(targets)] for name in ("train", "validation", "test")
    }
    return GraphsCorpus(ABOUT, zoo.info("graph-tiny"), graph_task, parts)


def test_graphs_of_a_batch_stand_one_behind_the_other() -> None:
    corpus = few(GraphTask("classify", "class", ["a", "b"], 2), [torch.tensor(0), torch.tensor(1)])
    (x, index, attr, batch), target = corpus.batch(torch.tensor([1, 0]), torch.Generator())
    assert (x.shape, index.shape, attr) == ((7, 2), (2, 10), None)
    assert batch.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert target.tolist() == [1, 0]


def test_a_graph_alone_is_the_same_tensor_each_time_so_that_what_is_made_of_it_is_kept() -> None:
    corpus = few(GraphTask("tag", "class", ["a", "b"], 2), [torch.tensor([0, 1, 1])])
    first, second = (next(iter(corpus.held_out("train", 4))) for _ in range(2))
    assert first.inputs[1] is second.inputs[1]
    assert first.target is second.target


def test_a_model_is_made_to_fit_classes_labels_and_numbers() -> None:
    assert few(GraphTask("classify", "class", ["a", "b"], 2), [torch.tensor(0)]).overrides() == {
        "num_classes": 2,
        "node_features": 2,
        "edge_features": 0,
    }
    graph_task = GraphTask("tag", "numbers", ["mass"], 2, fitting={"pool": "sum", "unknown": 1})
    found = few(graph_task, [torch.zeros(3, 1)]).overrides()
    assert found["task"] == "tag"
    assert found["target"] == "numbers"
    assert found["pool"] == "sum"
    assert "unknown" not in found


def test_each_kind_of_target_trains_and_is_judged_by_its_own_metric() -> None:
    kinds = {
        "class": (["a", "b"], [torch.tensor(0), torch.tensor(1)]),
        "labels": (["a", "b"], [torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])]),
        "numbers": (["mass"], [torch.tensor([1.0]), torch.tensor([2.0])]),
    }
    metrics = []
    for kind, (names, targets) in kinds.items():
        trained = zoo.train(
            "graph-tiny", few(GraphTask("classify", kind, names, 2), targets), steps=2, batch_size=2, depth=1
        )
        metrics.append(next(iter(trained.scores)))
        corpus = few(GraphTask("classify", kind, names, 2), targets)
        assert tuple(trained.scores) == tuple(name.removeprefix("-") for name in corpus.metrics(trained.model))
    assert metrics == ["accuracy", "roc-auc", "r2"]


def test_labels_of_nodes_train_across_graphs() -> None:
    corpus = few(GraphTask("tag", "class", ["a", "b"], 2), [torch.tensor([0, 1, -100]), torch.tensor([1, 1, 0, 0])])
    trained = zoo.train("graph-tiny", corpus, steps=2, batch_size=2, depth=1)
    assert set(trained.scores) == {"accuracy", "loss"}


def test_classes_are_those_of_graphs_or_of_all_their_nodes() -> None:
    assert few(GraphTask("classify", "class", ["a", "b"], 2), [torch.tensor(0), torch.tensor(1)]).classes_of(
        "train"
    ).tolist() == [0, 1]
    nodes = few(GraphTask("tag", "class", ["a", "b"], 2), [torch.tensor([0, 1, 1]), torch.tensor([0, 1, 1, 0])])
    assert nodes.classes_of("train").tolist() == [0, 1, 1, 0, 1, 1, 0]


def test_numbers_of_any_size_are_learned_by_their_deviation() -> None:
    corpus = few(GraphTask("classify", "numbers", ["mass"], 2), [torch.tensor([300.0]), torch.tensor([500.0])])
    model: Any = zoo.create("graph-tiny", depth=1, **corpus.overrides())
    torch.nn.init.zeros_(model.head.head.linear.weight)
    (batch,) = corpus.held_out("train", 2)
    assert torch.allclose(model(*batch.inputs), torch.full((2, 1), 400.0))
    assert float(corpus.loss(torch.full((2, 1), 400.0), batch.target, 0.0)) == pytest.approx(1)


def test_numbers_that_are_all_one_have_a_unit_too() -> None:
    corpus = few(GraphTask("classify", "numbers", ["mass"], 2), [torch.tensor([7.0]), torch.tensor([float("nan")])])
    assert corpus.units == [[7.0, 1.0]]
