"""The data of a run, as each model reads them, and what a pilot reads of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

import zoo
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.training import run, tested
from zoo.bench.learning_curve.training.run import Corpora, execute
from zoo.bench.learning_curve.training.tuning import kept
from zoo.data.corpus import Corpus, open_corpus
from zoo.errors import DataError, ZooError
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus
from zoo.spec import ModelSpec


@pytest.mark.parametrize(
    ("model", "image_size", "asked"),
    [
        ("bert-tiny", None, {}),
        ("graph-tiny", None, {}),
        ("speech-tiny", None, {}),
        ("vit-micro", None, {"image_size": None}),
        ("resnet-micro", None, {"image_size": None}),
        ("vit-micro", 32, {"image_size": 32}),
        ("bert-tiny", 32, {"image_size": 32}),
    ],
)
def test_only_images_are_asked_for_their_own_size(
    model: str, image_size: int | None, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs: list[ModelSpec] = []

    def note(text: str, spec: ModelSpec, seed: int, tokenizer: str) -> Corpus:
        specs.append(spec)
        raise DataError("no data")

    monkeypatch.setattr(run, "open_corpus", note)
    with pytest.raises(DataError, match="no data"):
        Corpora("cards", image_size).of(model)
    (spec,) = specs
    assert {key: value for key, value in spec.config.items() if key == "image_size"} == asked


def pictures(corpus: Corpus, *parts: str) -> set[bytes]:
    assert isinstance(corpus, ImageCorpus)
    source = corpus.source
    given = {"train": lambda: source.train(3000, 0), "validation": source.validation, "test": source.test}
    return {row.numpy().tobytes() for part in parts for row in torch.as_tensor(given[part]().inputs)}


def test_no_drawn_test_example_is_in_a_training_of_development() -> None:
    """Another seed draws them; what a seed only splits has one split for all studies, as before."""
    spec = zoo.info("vit-micro")
    studied = Corpora("cards").of("vit-micro")
    for seed in (0, 1):
        developed = open_corpus("cards", spec, seed)
        assert not pictures(studied, "test") & pictures(developed, "train", "validation", "test")
    assert not pictures(studied, "test") & pictures(studied, "train", "validation")
    digits = open_corpus("digits", spec)
    assert pictures(Corpora("digits").of("vit-micro"), "test") == pictures(digits, "test")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("data", "model", "drawn"),
    [
        ("tags", "bert-micro", True),
        ("reverse", "transformer-tiny", True),
        ("drawn-graphs:components?count=48", "gcn-micro", True),
        ("karate", "gcn-micro", False),
    ],
)
def test_a_study_of_drawn_examples_is_tested_on_others_than_development(data: str, model: str, drawn: bool) -> None:
    def tested(corpus: Corpus) -> list[bytes]:
        leaves = [leaf for batch in corpus.held_out("test", 1) for leaf in tree_leaves(batch.inputs)]
        return [leaf.numpy().tobytes() for leaf in leaves if isinstance(leaf, torch.Tensor)]

    studied, developed = tested(Corpora(data).of(model)), tested(open_corpus(data, zoo.info(model)))
    assert studied
    assert (studied != developed) == drawn


@pytest.mark.parametrize("pilot", [True, False])
def test_operations_are_those_of_the_model_in_evaluation(
    pilot: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training, norms that leave padding out ask for values, which a count by shapes does not have."""
    config = StudyConfig(models=["vit-micro"], data="digits", sizes=[20], seeds=1, steps=2, precision="32-true")
    (usual,) = plan(config, tmp_path)[1]
    monkeypatch.setattr(run, "_multiply_adds", lambda corpus, model: "training" if model.training else "evaluation")
    assert execute(replace(usual, pilot=pilot).to_dict())["multiply_adds"] == "evaluation"


def test_a_pilot_reads_no_test_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = StudyConfig(models=["vit-micro"], data="digits", sizes=[20], seeds=1, steps=2, precision="32-true")
    (usual,) = plan(config, tmp_path)[1]
    assert "pilot" not in usual.to_dict()  # keys of results stay
    examples = ImageCorpus.examples

    def guarded(self: ImageCorpus, split: str, start: int, end: int) -> Any:
        if split == "test":
            raise DataError("a test example is read")
        return examples(self, split, start, end)

    monkeypatch.setattr(ImageCorpus, "examples", guarded)
    found = execute(replace(usual, pilot=True).to_dict())
    assert found["validation"] > 0
    assert not {"accuracy", "correct", "score"} & found.keys()
    with pytest.raises(DataError, match="a test example is read"):
        execute(usual.to_dict())


def test_labels_are_part_of_a_run_and_those_as_they_are_leave_old_keys(tmp_path: Path) -> None:
    config = StudyConfig(models=["vit-micro"], data="cards", sizes=[300], seeds=1, precision="32-true")
    (plain,) = plan(config, tmp_path)[1]
    assert not {"class_ratio", "label_noise"} & plain.to_dict().keys()
    study, (changed,) = plan(replace(config, class_ratio="8", label_noise=0.1), tmp_path)
    assert {"class_ratio": "8", "label_noise": 0.1}.items() <= changed.to_dict().items()
    assert replace(changed, class_ratio="", label_noise=0.0) == plain
    assert study.data.name == "cards, class ratio 8, label noise 0.1"
    assert "the test is as it is" in study.data.description
    assert kept(plain, 208)
    assert kept(changed, 208) is None  # those of the package were chosen on other labels


def test_a_run_on_other_labels_is_validated_on_them_and_tested_as_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[int]] = {}
    inner = tested.judged

    def scores(corpus: Corpus, model: Any, split: str, *_: Any) -> dict[str, float]:
        seen[split] = torch.cat([batch.target for batch in corpus.held_out(split, 64)]).tolist()
        return {"accuracy": 0.5, "loss": 1.0}

    def judged(corpus: Corpus, model: Any, batch_size: int) -> dict[str, Any]:
        seen["test"] = torch.cat([batch.target for batch in corpus.held_out("test", 64)]).tolist()
        return inner(corpus, model, batch_size)

    monkeypatch.setattr(run, "_scores", scores)
    monkeypatch.setattr(run, "judged", judged)
    config = StudyConfig(models=["vit-micro"], data="digits", sizes=[40], seeds=1, steps=1, precision="32-true")
    found = []
    for each in (config, replace(config, class_ratio="4", label_noise=0.3)):
        found.append(execute(plan(each, tmp_path)[1][0].to_dict()))
        found[-1] |= {"seen": dict(seen)}
    assert found[0]["seen"]["test"] == found[1]["seen"]["test"]
    assert found[0]["classes"] == found[1]["classes"]
    assert -100 not in found[0]["seen"]["validation"]
    assert -100 in found[1]["seen"]["validation"]
    assert found[1]["log_loss"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"class_ratio": "8,4"}, "has 2 numbers, and 'digits' has 10 classes"),
        ({"class_ratio": "8,0"}, "0 is not above 0"),
        ({"label_noise": 1.0}, "label_noise=1"),
        ({"class_ratio": "100", "sizes": [30]}, "none is of class"),
        ({"class_ratio": "100", "sizes": [900]}, r"of class '0', of which 'digits' has \d+ besides"),
    ],
)
def test_labels_that_cannot_be_are_refused_before_anything_is_trained(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match=said):
        plan(StudyConfig(**{"models": ["vit-micro"], "data": "digits", "precision": "32-true", **options}), tmp_path)


def test_default_sizes_are_those_that_the_ratio_leaves(tmp_path: Path) -> None:
    config = StudyConfig(models=["vit-micro"], data="digits", class_ratio="30", precision="32-true")
    study, _ = plan(config, tmp_path)
    labelling = config.labelling
    corpus = Corpora("digits").of("vit-micro")
    assert study.sizes[-1] == labelling.info(corpus).limit
    for size in study.sizes:
        labelling.check_size(size, corpus, "digits")
