"""Studies of contestants that start from weights: fine-tuned and probed, beside those from scratch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants.recipes import (
    BY_KIND,
    FINE_TUNING,
    FORMER,
    PROBING,
    RATES,
    RECIPE,
    recipe_for,
)
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.run import Run, execute
from zoo.bench.learning_curve.training.tuning import Budget, pilot_runs
from zoo.data.corpus import open_corpus
from zoo.errors import ConfigError, WeightsError


def saved(path: Path, name: str, **sizes: Any) -> str:
    return f"local-dir:{zoo.weights.save(zoo.create(name, **sizes), path)}"


def planned(models: list[str], folder: Path, **options: Any) -> list[Run]:
    asked: dict[str, Any] = {"data": "digits", "sizes": [20], "seeds": 1, "steps": 2, "precision": "32-true"}
    return plan(StudyConfig(models=models, **asked | options), folder)[1]


def test_each_start_has_its_recipe_and_all_have_as_many_rates() -> None:
    spec = zoo.info("vit-micro")
    assert recipe_for(spec, None) is RECIPE
    assert recipe_for(spec, None, "pretrained") is recipe_for(spec, BY_KIND, "pretrained") is FINE_TUNING
    assert recipe_for(spec, "muon-hidden", "probe") == replace(
        PROBING, optimizer="muon-hidden", reason="the optimiser was chosen with --optimizer, the same for all"
    )
    assert recipe_for(spec, BY_KIND) is FORMER["attention"]
    assert len(FINE_TUNING.rates) == len(PROBING.rates) == len(RATES)
    assert max(FINE_TUNING.rates) < max(RATES)


def test_pilots_try_the_rates_of_their_recipe(tmp_path: Path) -> None:
    name = saved(tmp_path / "a", "resnet-micro", in_chans=1)
    runs = planned(["resnet-micro", name, f"probe:{name}"], tmp_path)
    tried = {run.model: set[float]() for run in runs}
    for run in pilot_runs(runs, Budget(30, 7, (5, 6))):
        tried[run.model].add(run.learning_rate)
    assert list(tried.values()) == [set(RATES), set(FINE_TUNING.rates), set(RATES)]


def test_only_runs_with_weights_are_known_by_them(tmp_path: Path) -> None:
    name = saved(tmp_path / "a", "resnet-micro", in_chans=1)
    scratch, tuned, probe, random = planned(["resnet-micro", name, f"probe:{name}", "probe:resnet-micro"], tmp_path)
    assert "weights" not in scratch.to_dict()
    assert "weights" not in random.to_dict()
    assert tuned.weights == probe.weights == tuned.to_dict()["weights"]
    saved(tmp_path / "a", "resnet-micro", in_chans=1)
    assert planned([name], tmp_path)[0].weights != tuned.weights
    with pytest.raises(WeightsError, match="have changed since this run was planned"):
        execute(tuned.to_dict())


def test_each_contestant_has_images_of_its_own_size(tmp_path: Path) -> None:
    name = saved(tmp_path / "a", "vit-micro", image_size=32, in_chans=1)
    runs = planned(["vit-micro", name, f"probe:{name}"], tmp_path)
    assert [run.image_size for run in runs] == [24, 32, 32]
    assert [run.image_size for run in planned(["vit-micro", name], tmp_path, image_size=16)] == [16, 16]
    assert len({run.fingerprint for run in runs}) == 1
    assert execute(runs[1].to_dict())["multiply_adds"] > execute(runs[0].to_dict())["multiply_adds"]


def test_what_does_not_fit_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    colour = saved(tmp_path / "a", "resnet-micro")
    text = r"(?s)'local-dir:.*' does not fit the data 'digits' \(it reads images of 3 channels, these have 1\): .*shape"
    with pytest.raises(ConfigError, match=text):
        planned([colour], tmp_path)
    with pytest.raises(ConfigError, match="'vit-micro' reads 'vision'"):
        planned([saved(tmp_path / "b", "vit-micro")], tmp_path, data="tags")
    with pytest.raises(ConfigError, match="a probe is a linear classifier"):
        planned(["probe:transformer-tiny"], tmp_path, data="reverse")
    with pytest.raises(ConfigError, match=r"cannot read images of 20 x 20.*try --image-size 24"):
        planned([saved(tmp_path / "c", "vit-micro", in_chans=1)], tmp_path, image_size=20)


def test_a_probe_costs_one_forward_pass_of_each_example(tmp_path: Path) -> None:
    (run,) = planned(["probe:resnet-micro"], tmp_path, steps=30)
    found = execute(run.to_dict())
    assert found["training_multiply_adds"] == 20 * found["multiply_adds"]
    (plain,) = planned(["resnet-micro"], tmp_path)
    assert "training_multiply_adds" not in execute(plain.to_dict())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "data"), [("bert-micro", "tags"), ("graph-tiny", "drawn-graphs:components?count=48")]
)
def test_other_modalities_are_fine_tuned_and_probed(model: str, data: str, tmp_path: Path) -> None:
    corpus = open_corpus(data, zoo.info(model))
    folder = tmp_path / "saved"
    name = saved(folder, model, **corpus.overrides())
    corpus.save(folder)
    study = zoo.bench.data_size(
        models=[model, name, f"probe:{name}"], data=data, sizes=[20], seeds=1, steps=2, out=tmp_path / "study",
        workers=0, progress=False, lr_sweep=False,
    )  # fmt: skip
    assert not study.failures
    assert [entry.name for entry in study.models] == [model, "local-dir:…/saved", "probe:local-dir:…/saved"]
    assert len(study.points) == 3


def _shifted_digits(path: Path, classes: range, count: int) -> str:
    """Write digits of some classes, each at a random place: a self-attention model learns late to ignore the place."""
    from sklearn.datasets import load_digits

    bunch, rng = load_digits(), np.random.default_rng(0)
    chosen = rng.choice(np.flatnonzero(np.isin(bunch.target, classes)), count)
    pictures = np.zeros((count, 24, 24), np.uint8)
    for picture, digit, (row, column) in zip(
        pictures, bunch.images[chosen], rng.integers(0, 9, (count, 2)), strict=True
    ):
        picture[row : row + 16, column : column + 16] = np.kron(digit * 15.9, np.ones((2, 2)))
    np.savez(path, x=pictures, y=bunch.target[chosen])
    return f"npz:{path}"


@pytest.mark.slow
def test_weights_of_other_classes_help_where_examples_are_few(tmp_path: Path) -> None:
    torch.manual_seed(0)
    old, new = (_shifted_digits(tmp_path / f"{k}.npz", range(k, k + 5), count) for k, count in ((0, 4000), (5, 1500)))
    zoo.train("vit-micro", old, out=tmp_path / "old", steps=800, validations=2, precision="32-true")
    name = f"local-dir:{tmp_path / 'old'}"
    study: Study = zoo.bench.data_size(
        models=["vit-micro", name, f"probe:{name}"], data=new, sizes=[60], seeds=2, steps=100,
        out=tmp_path / "study", workers=0, progress=False, precision="32-true", lr_sweep=False,
    )  # fmt: skip
    scratch, tuned, probe = (study.points[entry.name, 60].value for entry in study.models)
    assert tuned > scratch + 0.08
    assert probe > scratch + 0.08
    page = (tmp_path / "study" / "report.html").read_text()
    assert "All of the model, from the weights of local-dir:" in page
    assert "A linear classifier on the vectors of the model, frozen with the weights of local-dir:" in page
