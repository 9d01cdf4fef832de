from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo.core import IGNORED
from zoo.data.corpus import Corpus, open_corpus
from zoo.errors import ConfigError
from zoo.plugins.vision.corpora.multi_label_corpus import MultiLabelImages
from zoo.weights import save

SPEC = zoo.info("vit-micro")
SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def pictures(tmp_path: Path) -> str:
    """Write pictures that are red, blue, both or neither, with their names in two columns and in one."""
    rows = ["path,red,blue,tags"]
    draw = np.random.default_rng(0)
    for number in range(40):
        red, blue = number % 2, (number // 2) % 2
        pixels = draw.integers(0, 40, (24, 24, 3)) + 200 * np.array([red, 0, blue])
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,{red},{blue},{';'.join(['red'] * red + ['blue'] * blue)}")
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    return f"csv:{tmp_path}/a.csv"


def opened(data: str) -> Any:
    return open_corpus(data, SPEC)


@pytest.mark.parametrize("options", ["labels=red,blue", "label=tags&separator=;"])
def test_pictures_of_a_table_have_any_number_of_labels(pictures: str, options: str) -> None:
    corpus = opened(f"{pictures}?{options}")
    assert isinstance(corpus, Corpus)
    assert isinstance(corpus, MultiLabelImages)
    assert corpus.overrides() == {"num_classes": 2, "in_chans": 3, "image_size": 24, "task": "multi-label"}
    order = [corpus.names.index("red"), corpus.names.index("blue")]
    batches = [corpus.batch(torch.arange(corpus.sizes["train"]), torch.Generator().manual_seed(0))]
    batches += [each for split in ("validation", "test") for each in corpus.held_out(split, 8)]
    assert sum(len(each.target) for each in batches) == 40
    for (images,), target in batches:
        bright = images.mean((2, 3))[:, [0, 2]] > 0
        assert torch.equal(bright.float(), target[:, order])


def test_a_picture_that_cannot_be_read_has_no_targets(pictures: str) -> None:
    corpus = opened(f"{pictures}?labels=red,blue")
    assert corpus.targets(torch.tensor([IGNORED, 0])).isnan().all(1).tolist() == [True, False]


def test_labels_are_not_mixed(pictures: str) -> None:
    corpus = opened(f"{pictures}?labels=red,blue")
    assert corpus.with_augmentation("none").images.augmentation.base == "none"
    with pytest.raises(ConfigError, match="mixup mixes the classes"):
        corpus.with_augmentation("mixup")


def test_a_model_predicts_any_number_of_labels(pictures: str, tmp_path: Path, capsys: Any) -> None:
    data = f"{pictures}?labels=red,blue"
    trained = zoo.train("vit-micro", data, out=tmp_path / "run", steps=2, batch_size=8, **SIZES)
    assert set(trained.scores) >= {"micro F1", "macro F1", "exact match", "mAP", "loss"}
    from zoo.pipeline import Pipeline

    pipeline = Pipeline(str(tmp_path / "run"))
    ((_, found),) = pipeline.predict([str(tmp_path / "1.png")])
    inputs = pipeline.inputs([str(tmp_path / "1.png")])
    wanted = pipeline.model(*inputs).sigmoid()[0].tolist()
    assert found == pytest.approx(dict(zip(["red", "blue"], wanted, strict=True)))


@pytest.mark.parametrize("name", ["vit-micro", "resnet-micro", "hybrid-micro"])
def test_the_plain_head_is_that_of_classification(name: str, tmp_path: Path) -> None:
    plain, several = zoo.create(name, num_classes=7), zoo.create(name, num_classes=7, task="multi-label")
    assert {key: x.shape for key, x in plain.state_dict().items()} == {
        k: x.shape for k, x in several.state_dict().items()
    }
    save(several, tmp_path)
    assert zoo.create(f"local-dir:{tmp_path}").spec.task == "multi-label"
    several.reset_classifier(3)
    assert several(*zoo.example(name)).shape == (2, 3)
