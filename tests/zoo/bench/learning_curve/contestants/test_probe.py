"""Probes: what is frozen, which vectors are computed, and what they are compared with."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

import zoo
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.contestants.probe import Probe, VectorBatches
from zoo.bench.learning_curve.training.run import Corpora, build
from zoo.data.corpus import Corpus
from zoo.data.subsets import subset
from zoo.errors import ConfigError


@pytest.fixture
def fabric() -> Fabric:
    return Fabric(accelerator="cpu", devices=1, precision="32-true")


def probed(name: str, data: str, count: int, seed: int = 0) -> tuple[Probe, Corpus]:
    """Give a probe with a classifier that is not 0, and some training examples."""
    corpus = Corpora(data).of(f"probe:{name}")
    torch.manual_seed(0)
    probe = build(f"probe:{name}", corpus)
    assert isinstance(probe, Probe)
    nn.init.normal_(probe.classifier.weight)
    return probe, subset(corpus, count, seed)


CASES = [
    ("resnet-micro", "digits", 40),
    ("bert-micro", "tags", 20),
    ("graph-tiny", "drawn-graphs:components?count=48", 20),
    ("gcn-micro", "karate", 1),
]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(("name", "data", "count"), CASES)
def test_vectors_give_the_loss_of_the_whole_model(name: str, data: str, count: int, fabric: Fabric) -> None:
    probe, part = probed(name, data, count)
    batches = VectorBatches(probe.model, part, fabric, keep=True).endless(8, seed=3)
    generator = torch.Generator().manual_seed(3)
    for index in part.epoch(generator, 8):
        inputs, target = part.batch(index, generator)
        found = next(batches)
        torch.testing.assert_close(
            part.loss(probe.classifier(*found.inputs), found.target, 0.0),
            part.loss(probe(*inputs), target, 0.0),
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.parametrize(("keep", "times"), [(True, 1), (False, 3)])
def test_each_example_is_read_once_but_where_it_changes(keep: bool, times: int, fabric: Fabric) -> None:
    probe, part = probed("resnet-micro", "digits", 32)
    read: list[int] = []
    probe.model.register_forward_pre_hook(lambda _, inputs: read.append(len(inputs[0])))
    batches = VectorBatches(probe.model, part, fabric, keep).endless(8, seed=0)
    for _ in range(3 * 4):
        next(batches)
    assert sum(read) == times * 32


def test_validation_reads_a_batch_once_and_another_one_anew(fabric: Fabric) -> None:
    probe, part = probed("resnet-micro", "digits", 10)
    (images,), _ = next(part.held_out("validation", 4))
    read: list[Tensor] = []
    probe.model.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    judged = probe.remembering()
    first = judged(images)
    assert torch.equal(judged(images.clone()), first)
    assert len(read) == 1
    other = nn.Linear(probe.classifier.in_features, 2)
    assert judged.with_classifier(other)(images).shape == (4, 2)
    assert len(read) == 1
    judged(images + 1)
    assert len(read) == 2


def test_the_model_stays_as_it_is_in_training_too() -> None:
    probe, part = probed("resnet-micro", "digits", 10)
    before = {name: value.clone() for name, value in probe.model.state_dict().items()}
    probe.train()
    (images,), _ = next(part.held_out("validation", 4))
    probe(images).sum().backward()
    assert all(torch.equal(before[name], value) for name, value in probe.model.state_dict().items())
    assert all(parameter.grad is None for parameter in probe.model.parameters())
    assert probe.classifier.weight.grad is not None


def test_a_probe_begins_with_the_saved_weights_and_no_class_ahead(tmp_path: Path) -> None:
    saved: Any = zoo.create("vit-micro", num_classes=7)
    folder = zoo.weights.save(saved, tmp_path)
    corpus = Corpora("cards").of(f"probe:local-dir:{folder}")
    probe: Any = build(f"probe:local-dir:{folder}", corpus)
    assert torch.equal(probe.model.encoder.norm.weight, saved.encoder.norm.weight)
    assert torch.equal(probe.model.stem.project.weight, saved.stem.project.weight)
    (images,) = next(corpus.held_out("validation", 2)).inputs
    assert torch.equal(probe(images), torch.zeros(2, 10))


@pytest.mark.parametrize(("name", "data"), [("transformer-tiny", "reverse"), ("graph-tiny", "molecules:logp")])
def test_data_without_classes_are_refused(name: str, data: str) -> None:
    contestant = Contestant.of(f"probe:{name}")
    corpus = Corpora(data).of(contestant.name)
    with pytest.raises(ConfigError, match=f"'probe:{name}': a probe is a linear classifier, .* no classes"):
        build(contestant.name, corpus)
