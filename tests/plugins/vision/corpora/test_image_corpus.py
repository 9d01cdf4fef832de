import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import zoo
from zoo.core import IGNORED
from zoo.data.corpus import Corpus, open_corpus
from zoo.data.subsets import chance_accuracy
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus
from zoo.plugins.vision.data.folders.lazy_images import ImageReader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write dark and bright pictures into class folders."""
    draw = np.random.default_rng(0)
    for name, level in (("bright", 180), ("dark", 20)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            pixels = draw.integers(level, level + 50, (20, 20, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{number}.png")
    return tmp_path / "pictures"


def test_a_training_names_and_counts_the_pictures_that_it_skips(folder: Path) -> None:
    for name in ("a.png", "b.png"):
        (folder / "dark" / name).write_bytes(b"no picture")
    with pytest.warns(UserWarning, match=r": 2 unreadable images skipped so far: dark/a\.png, dark/b\.png$"):
        zoo.train("vit-micro", f"folder:{folder}", steps=1, depth=1, dim=16, num_heads=2, mlp_dim=16)


def test_a_source_of_pictures_is_a_corpus_at_the_size_of_the_model(folder: Path) -> None:
    corpus = open_corpus(str(folder), create.info("vit-micro"))
    assert isinstance(corpus, Corpus)
    assert corpus.overrides() == {"num_classes": 2, "in_chans": 3, "image_size": 24}
    assert sum(corpus.sizes.values()) == 24
    batch = corpus.batch(torch.tensor([0, 1, 2]), torch.Generator().manual_seed(0))
    assert batch.inputs[0].shape == (3, 3, 24, 24)
    held = list(corpus.held_out("test", 2))
    assert sum(len(each.target) for each in held) == corpus.sizes["test"]


def test_images_that_cannot_be_read_are_left_out_of_scores(folder: Path) -> None:
    (folder / "dark" / "broken.png").write_bytes(b"no picture")
    seeds = range(30)
    corpora = (open_corpus(str(folder), create.info("vit-micro"), seed) for seed in seeds)
    corpus = next(corpus for corpus in corpora if IGNORED in torch.cat([b.target for b in corpus.held_out("test", 9)]))

    class Right(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            bright = pictures.mean((1, 2, 3)) > 0
            return torch.stack([bright, ~bright], 1) * self.scale

    with torch.no_grad():
        assert corpus.score(Right(), "test", 4)["accuracy"] == 1.0
    (note,) = corpus.study_info().notes  # type: ignore[attr-defined]
    assert note == "1 unreadable image skipped so far: dark/broken.png"


def test_the_same_generator_augments_in_the_same_way(folder: Path) -> None:
    corpus = open_corpus(str(folder), create.info("vit-micro"))
    one, two, other = (
        corpus.batch(torch.arange(8), torch.Generator().manual_seed(seed)).inputs[0] for seed in (0, 0, 1)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_an_answer_is_scored_by_accuracy(folder: Path) -> None:
    corpus = open_corpus(str(folder), create.info("vit-micro"))

    class Bright(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            bright = pictures.mean((1, 2, 3)) > 0
            return torch.stack([bright, ~bright], 1) * self.scale

    with torch.no_grad():
        assert corpus.score(Bright(), "test", 4)["accuracy"] == 1.0
        assert tuple(corpus.score(Bright(), "validation", 4)) == corpus.metrics(Bright()) == (corpus.metric, "loss")  # type: ignore[attr-defined]


def test_predictions_prepare_pictures_as_the_training_did(folder: Path, tmp_path: Path) -> None:
    tiny: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    zoo.train("vit-micro", str(folder), out=tmp_path / "out", steps=1, validations=1, precision="32-true", **tiny)
    assert json.loads((tmp_path / "out" / "labels.json").read_text()) == ["bright", "dark"]
    corpus = open_corpus(str(folder), create.info("vit-micro"))
    source = corpus.source  # type: ignore[attr-defined]
    read = zoo.preprocess(f"local-dir:{tmp_path / 'out'}")(str(folder / "dark" / "3.png"))
    resized = Image.open(folder / "dark" / "3.png").resize((24, 24), Image.Resampling.BICUBIC)
    by_hand = source.prepare(torch.from_numpy(np.asarray(resized).copy()).permute(2, 0, 1)[None])[0]
    torch.testing.assert_close(read, by_hand, atol=1e-4, rtol=0)


def test_the_chance_of_a_study_is_told_without_reading_a_picture(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_corpus(str(folder), create.info("vit-micro"))
    targets = torch.cat([batch.target for batch in corpus.held_out("test", 9)])
    monkeypatch.setattr(ImageReader, "pixels", None)
    assert chance_accuracy(corpus) == int(targets.bincount().max()) / len(targets)


def test_a_training_does_not_go_on_with_a_folder_that_changed(folder: Path, tmp_path: Path) -> None:
    def train(**options: Any) -> None:
        zoo.train(
            "vit-micro", f"folder:{folder}", out=tmp_path / "out", steps=2, batch_size=8, validations=1,
            precision="32-true", cache=True, dim=16, depth=1, num_heads=2, mlp_dim=16, **options,
        )  # fmt: skip

    train()
    before = open_corpus(f"folder:{folder}", create.info("vit-micro")).fingerprint
    new, picture, other = (folder / "dark" / f"{name}.png" for name in ("new", 3, 4))
    changes: dict[str, Callable[[], object]] = {
        "added": lambda: new.write_bytes(other.read_bytes()),
        "replaced": lambda: Image.open(other).rotate(180).save(picture),
        "removed": picture.unlink,
    }
    for change, make in changes.items():
        make()
        corpus = open_corpus(f"folder:{folder}", create.info("vit-micro"))
        assert isinstance(corpus, ImageCorpus)
        assert corpus.fingerprint != before, change
        before = corpus.fingerprint
        cached, decoded = (
            torch.cat([batch.inputs[0] for split in ("validation", "test") for batch in each.held_out(split, 99)])
            for each in (corpus.with_cache(True), corpus.with_cache(False))
        )
        assert torch.equal(cached, decoded), change
    with pytest.raises(ConfigError, match=r"fingerprint: (?s:.*)files were added, removed or written to since"):
        train(resume=True)
    train(overwrite=True)


def test_a_cache_may_be_asked_for_when_a_training_goes_on_unless_crops_are_taken_of_it(
    folder: Path,
) -> None:
    corpus = open_corpus(f"folder:{folder}", create.info("vit-micro"))
    assert isinstance(corpus, ImageCorpus)
    assert corpus.with_cache(True).fingerprint == corpus.with_cache(False).fingerprint == corpus.fingerprint
    crops = corpus.with_augmentation("crop")
    assert crops.with_cache(False).fingerprint == crops.fingerprint == corpus.fingerprint
    assert crops.with_cache(True).fingerprint == f"{corpus.fingerprint}-crops-of-cache"


@pytest.mark.slow
def test_a_study_with_a_cache_decodes_before_it_runs_and_has_the_same_results(folder: Path, tmp_path: Path) -> None:
    def run(out: str, **options: Any) -> list[Any]:
        study = zoo.bench.data_size(
            ["vit-micro"], f"folder:{folder}", [8], 2, out=tmp_path / out, steps=3, precision="32-true", device="cpu",
            progress=False, workers=2, lr_sweep=False, **options,
        )  # fmt: skip
        return [(record["validation_scores"], record["correct"]) for record in study.records]

    plain = run("plain")
    corpus = open_corpus(
        f"folder:{folder}", create.info("vit-micro").with_config(image_size=32)
    )  # as studies read them
    assert isinstance(corpus, ImageCorpus)
    cache = corpus.source.reader.cache  # type: ignore[attr-defined]
    assert run("cached", cache=True) == plain
    assert not cache.missing(np.arange(24)).any()
