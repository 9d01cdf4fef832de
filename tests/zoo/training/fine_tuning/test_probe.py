"""A probe is a run like any other, whose head holds what scikit-learn fitted."""

import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import zoo
from zoo.data import Batch
from zoo.data.batches.batched_corpus import to_device
from zoo.training.config import Settings
from zoo.training.fine_tuning.probe import check_probe, fit_probe

pytestmark = pytest.mark.usefixtures("one_thread")


def test_only_the_head_is_new_and_the_run_answers_as_the_model_does(
    quadrants: Any, tiny: dict[str, Any], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    found = zoo.train("vit-micro", quadrants, out=tmp_path / "run", probe=True, **tiny)
    loaded: Any = zoo.create(f"local-dir:{tmp_path / 'run'}").eval()
    x = torch.randn(3, 1, 8, 8)
    torch.testing.assert_close(loaded(x), found.model(x))
    with torch.no_grad():
        assert found.scores["accuracy"] == pytest.approx(quadrants.score(loaded, "test", 8)["accuracy"])
    again = zoo.train("vit-micro", quadrants, out=tmp_path / "run", probe=True, resume=True, **tiny)
    torch.testing.assert_close(again.model(x), found.model(x))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_head_is_the_best_logistic_regression_on_the_vectors(classes: int, tmp_path: Path) -> None:
    rng = random.Random(0)
    words = ("alpha", "beta", "gamma")[:classes]
    rows = [f"{word} {rng.randrange(99)},{word}" for word in words * 20]
    (tmp_path / "words.csv").write_text("\n".join(["text,label", *rows]))
    found = zoo.train("bert-micro", f"csv:{tmp_path}/words.csv", probe=True, tokenizer="word", depth=1)
    assert found.scores["accuracy"] == 1
    assert found.outcome.steps == 1
    probabilities = found.model(torch.tensor([[1, 5, 6]])).softmax(-1)
    assert probabilities.shape == (1, classes)


def test_numbers_are_fitted_in_their_own_units() -> None:
    corpus: Any = zoo.data.open_corpus("drawn-graphs:triangle?count=300", zoo.info("graph-tiny"), 0)
    torch.manual_seed(0)  # whatever drawing or reading the graphs drew
    spec = corpus.overrides() | {"num_classes": 1, "target": "numbers", "units": [[100.0, 5.0]]}
    model: Any = zoo.create("graph-tiny", **spec).eval()

    backbone = deepcopy(model)
    backbone.reset_classifier(0)
    weights = torch.randn(model.num_features, dtype=torch.float64)

    class Sizes:
        """Ask for a linear function of the vectors."""

        name, task, sizes, units = "sizes", "classify", {"train": 160, "validation": 20}, [[100.0, 5.0]]

        def overrides(self) -> dict[str, Any]:
            return {"target": "numbers", "num_classes": 1}

        def items(self, split: str, places: Any) -> Any:
            batch = corpus.items(split, places)
            with torch.no_grad():
                found = backbone(*batch.inputs).double() @ weights
            return batch._replace(target=100 + 5 * found[:, None])

        def held_out(self, split: str, batch_size: int) -> Any:
            return (self.items(split, range(start, start + 10)) for start in range(0, self.sizes[split], 10))

    sizes: Any = Sizes()
    fit_probe(model, sizes, Settings(batch_size=10))
    inputs, target = to_device(sizes.items("validation", range(20)), torch.device("cpu"))
    with torch.no_grad():
        error = (model(*inputs).double() - target).abs().mean()
    assert float(error) < 0.5 * float((target - target.mean()).abs().mean())
    assert not np.isnan(float(error))


class Vectors:
    """Serve vectors with given targets to a model that answers with them."""

    def __init__(self, target: torch.Tensor, task: str = "classify", kind: str = "class") -> None:
        self.name, self.task, self.kind, self.target = "mine", task, kind, target
        self.sizes = dict.fromkeys(("train", "validation"), len(target))

    def overrides(self) -> dict[str, Any]:
        return {"target": self.kind}

    def items(self, split: str, places: Any) -> Batch:
        places = list(places)
        x = torch.randn(len(self.target), 4, generator=torch.Generator().manual_seed(0))
        return Batch((x[places],), self.target[places])

    def held_out(self, split: str, batch_size: int) -> Any:
        yield self.items(split, range(len(self.target)))


class KnownVectors(Vectors):
    """Tell classes before vectors are computed, which nobody may ask for."""

    def classes_of(self, split: str) -> torch.Tensor:
        return self.target

    def placed(self, split: str, batch_size: int) -> Any:
        raise AssertionError("vectors are computed")

    def items(self, split: str, places: Any) -> Batch:
        raise AssertionError("vectors are computed")


class Head(nn.Module):
    """Have one linear layer."""

    head: nn.Module

    def __init__(self) -> None:
        super().__init__()
        self.num_classes = 3
        self.head: nn.Module = nn.Linear(4, 3)

    def reset_classifier(self, count: int) -> None:
        self.head = nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(x)
        return found


ABSENT = torch.tensor([0, 2, 2, 0, 2, 0])
SEVERAL = torch.tensor([[1.0, 0, float("nan")], [0, 1, 0], [1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("corpus", "told"),
    [
        (KnownVectors(ABSENT), "no training example is of class 1 .*add examples of it"),
        (Vectors(ABSENT), "no training example is of class 1 .*add examples of it"),
        (Vectors(SEVERAL, "multi-label"), "every training example lacks label 2 "),
        (Vectors(torch.rand(6, 3), kind="numbers"), "'mine': its targets are numbers"),
    ],
)
def test_classes_that_cannot_be_balanced_are_refused(corpus: Any, told: str) -> None:
    with pytest.raises(zoo.ConfigError, match=f"class_weights='balanced'.*{told}"):
        fit_probe(Head(), corpus, Settings(batch_size=3, class_weights="balanced"))


def test_each_of_several_labels_has_a_logistic_regression(tmp_path: Path) -> None:
    rng = random.Random(0)
    rows = ["text,red,late"]
    for number in range(80):
        red, late = number % 2, number // 2 % 2
        words = f"{('blue', 'red')[red]} {('soon', 'late')[late]} {rng.randrange(9)}"
        rows.append(f"{words},{red},{'' if number % 9 == 0 else late}")  # of every ninth nobody knows the second
    (tmp_path / "words.csv").write_text("\n".join(rows))
    data = f"csv:{tmp_path}/words.csv?labels=red,late"
    found = zoo.train("bert-micro", data, probe=True, tokenizer="word", depth=1)
    assert found.model.spec.task == "multi-label"
    assert found.scores["exact match"] == 1
    assert found.outcome.steps == 1


@pytest.mark.parametrize(
    ("given", "task", "told"),
    [
        ({}, "generate", "not for what a model writes or fills in; use lora='8'"),
        ({"lora": "8"}, "classify", "probe=True with lora='8'"),
        ({"mixup": 0.2}, "tag", r"probe=True with mixup=0\.2"),
        ({"steps": 6}, "classify", "probe=True with steps=6: a probe computes vectors once and fits the head alone"),
        ({"learning_rate": 0.1}, "tag", r"probe=True with learning_rate=0\.1"),
        ({"patience": 2}, "multi-label", "probe=True with patience=2"),
    ],
)
def test_what_has_no_linear_head_and_what_trains_more_are_refused(given: dict[str, Any], task: str, told: str) -> None:
    with pytest.raises(zoo.ConfigError, match=told):
        check_probe(Settings(probe=True, **given), task, "data")
