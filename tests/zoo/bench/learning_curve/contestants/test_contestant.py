"""What the name of a contestant says, and what its weights are known by."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from torch import nn

import zoo
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.lineup import contestants
from zoo.data.corpus import open_corpus
from zoo.errors import ConfigError, UnknownModelError, WeightsError
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Save a model of ten classes with what its images were prepared by."""
    torch.manual_seed(0)
    model = zoo.create("resnet-micro", image_size=16)
    return zoo.weights.save(
        model, tmp_path / "saved", {"input_size": [3, 16, 16], "mean": [0.1, 0.2, 0.3], "std": [1, 2, 4]}
    )


@pytest.mark.parametrize(
    ("name", "start", "reference"),
    [
        ("vit-small", "scratch", ""),
        ("vit-small.augreg_in1k", "pretrained", "hf-hub:timm/vit_small_patch16_224.augreg_in1k"),
        ("timm:resnet18.a1_in1k", "pretrained", "hf-hub:timm/resnet18.a1_in1k"),
        ("timm:resnet18", "scratch", ""),
        ("hf-hub:me/mine", "pretrained", "hf-hub:me/mine"),
        ("probe:resnet-50.a1_in1k", "probe", "hf-hub:timm/resnet50.a1_in1k"),
        ("probe:vit-micro", "probe", ""),
    ],
)
def test_a_name_says_what_is_trained_and_from_which_weights(name: str, start: str, reference: str) -> None:
    contestant = Contestant.of(name)
    assert (contestant.start, contestant.reference, contestant.name) == (start, reference, name)


def test_a_folder_is_the_same_from_everywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    names = ["local-dir:saved", "local_dir:./saved", "probe:local-dir:x/../saved"]
    assert contestants(names, "digits", "")[0] == (
        f"local-dir:{folder}",
        f"local-dir:{folder}",
        f"probe:local-dir:{folder}",
    )


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("probe:", ConfigError, "'probe:': a probe is of a model: write probe:NAME"),
        ("probe: ", ConfigError, "a probe is of a model"),
        ("probe:probe:vit-micro", ConfigError, "'probe:probe:vit-micro': a probe is of a model"),
        ("probe:vit-mikro", UnknownModelError, "vit-micro"),
        ("vit-small.nothing", UnknownModelError, r"Unknown tag \(nothing\).*augreg_in1k"),
        ("local-dir:{tmp}/none", WeightsError, "none' is no folder"),
        ("probe:local-dir:{tmp}", WeightsError, "has no config.json that names an architecture"),
        ("hf-hub:me/mine", WeightsError, "'hf-hub:me/mine' is not in the cache .* HF_HUB_OFFLINE is set"),
    ],
)
def test_names_of_nothing_are_refused(
    name: str, error: type[Exception], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(error, match=text):
        contestants([name.format(tmp=tmp_path)], "digits", "")


def test_a_folder_of_another_modality_is_refused_beside_others(tmp_path: Path) -> None:
    folder = zoo.weights.save(zoo.create("bert-micro", vocab_size=9), tmp_path)
    with pytest.raises(ConfigError, match=r"different modalities.*'vit-micro \(vision\)' and 'bert-micro \(text\)'"):
        contestants(["vit-micro", f"probe:local-dir:{folder}"], "digits", "")


def test_the_fingerprint_is_of_the_content_of_the_weights(folder: Path, tmp_path: Path) -> None:
    contestant = Contestant.of(f"local-dir:{folder}")
    before = contestant.fingerprint()
    assert before == Contestant.of(f"probe:local-dir:{folder}").fingerprint()
    assert Contestant.of("probe:vit-micro").fingerprint() is None
    os.utime(folder / "model.safetensors", (1, 1))
    contestant.check_unchanged(before)
    torch.manual_seed(1)
    zoo.weights.save(zoo.create("resnet-micro", image_size=16), folder)
    with pytest.raises(WeightsError, match=r"weights of 'local-dir:.*' have changed since this run was planned"):
        contestant.check_unchanged(before)


def test_a_repository_is_known_by_the_content_of_its_snapshot(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "hub" / "models--me--mine"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "snapshots").mkdir()
    folder.rename(repository / "snapshots" / ("0" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    snapshot = Contestant.of(f"local-dir:{repository / 'snapshots' / ('0' * 40)}")
    assert Contestant.of("probe:hf-hub:me/mine").fingerprint() == snapshot.fingerprint()


def test_weights_are_loaded_and_the_classifier_is_new_though_it_has_as_many_labels(folder: Path) -> None:
    saved: Any = zoo.create(f"local-dir:{folder}")
    made: Any = Contestant.of(f"local-dir:{folder}").make({"num_classes": 10, "in_chans": 3})
    assert torch.equal(made.net.conv1.weight, saved.net.conv1.weight)
    assert not torch.equal(made.net.fc.weight, saved.net.fc.weight)
    assert made.num_classes == 10


def test_images_are_prepared_as_the_weights_were_trained(folder: Path) -> None:
    plain = open_corpus("cards", zoo.info("resnet-micro").with_config(image_size=None))
    for image_size, side in ((None, 16), (20, 20)):
        corpus: Any = Contestant.of(f"probe:local-dir:{folder}").prepared(plain, image_size)
        assert isinstance(corpus, ImageCorpus)
        assert corpus.overrides()["image_size"] == side
        assert (corpus.preparation["mean"], corpus.preparation["std"]) == ([0.1, 0.2, 0.3], [1, 2, 4])
        (shown,) = next(corpus.held_out("validation", 2)).inputs
        assert shown.shape == (2, 3, side, side)
    assert Contestant.of("vit-micro").prepared(plain, None) is plain


def test_another_number_of_channels_takes_the_mean_of_the_moments(folder: Path) -> None:
    grey = open_corpus("digits", zoo.info("resnet-micro"))
    corpus: Any = Contestant.of(f"local-dir:{folder}").prepared(grey, None)
    assert corpus.preparation["mean"] == pytest.approx([0.2])


@pytest.mark.usefixtures("few_texts")
def test_texts_are_read_by_the_tokenizer_of_the_weights(tmp_path: Path) -> None:
    corpus: Any = open_corpus("tags", zoo.info("bert-micro"))
    folder = zoo.weights.save(zoo.create("bert-micro", **corpus.overrides()), tmp_path)
    corpus.save(folder)
    assert Contestant.of(f"local-dir:{folder}").tokenizer == str(folder / "tokenizer.json")
    assert Contestant.of("bert-micro").tokenizer == ""


def test_a_model_without_memory_reads_no_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contestant = Contestant.of(f"local-dir:{folder}")
    assert contestant.spec.name == "resnet-micro"
    (folder / "model.safetensors").unlink()
    assert isinstance(contestant.make({"num_classes": 3}, device="meta"), nn.Module)
