"""`Pipeline`: from raw inputs to answers."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import zoo
from zoo.errors import ConfigError, InputError
from zoo.pipeline import Pipeline

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def labeller(tmp_path: Path) -> str:
    """Save a small classifier of images, and an image."""
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **SIZE), tmp_path)
    Image.linear_gradient("L").save(tmp_path / "a.png")
    (tmp_path / "labels.json").write_text('["cat", "dog"]')
    return str(tmp_path)


def test_files_are_labelled(labeller: str) -> None:
    ((file, answer),) = Pipeline(labeller).predict([f"{labeller}/a.png"])
    assert file == f"{labeller}/a.png"
    assert set(answer) == {"cat", "dog"}
    assert sum(answer.values()) == pytest.approx(1)


def test_a_model_may_be_given(labeller: str) -> None:
    model = Pipeline(labeller).model
    assert Pipeline(labeller, model=model).model is model


def test_a_model_of_another_task_is_refused_before_it_is_loaded(labeller: str) -> None:
    pipeline = Pipeline(labeller)
    with pytest.raises(ConfigError, match="which does not generate: use zoo predict"):
        next(pipeline.generate(["a text"]))
    with pytest.raises(ConfigError, match="without labels: use zoo generate"):
        Pipeline("transformer-tiny").predict(["a text"])
    assert "model" not in vars(pipeline)


def test_files_that_cannot_be_read_are_skipped_if_wished(tmp_path: Path) -> None:
    pipeline = Pipeline("vit-micro", model=zoo.create("vit-micro", num_classes=2, **SIZE))
    gone, skipped = [str(tmp_path / name) for name in ("a.png", "b.png")], []
    assert list(pipeline.predict(gone, lambda name, error: skipped.append(name))) == []
    assert skipped == gone
    with pytest.raises(InputError, match="an input cannot be read"):
        list(pipeline.predict(gone))
