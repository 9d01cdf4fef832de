"""Model cards."""

import json
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.errors import WeightsError
from zoo.weights.card import PIPELINES, card

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
RECORD = {
    "data": "folder:pictures", "sizes": {"train": 1200, "test": 300}, "command": "zoo train vit-micro --lr 1e-3",
    "steps_done": 1500, "seconds": 61.2, "best_step": 1200, "best_by": "accuracy", "test": {"accuracy": 0.8125},
}  # fmt: skip
EVALUATION = {
    "data": "folder:other", "split": "test", "items": 250,
    "scores": {"accuracy": {"value": 0.75, "interval": [0.7, 0.8]}},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **SIZE), tmp_path)
    (tmp_path / "labels.json").write_text('["cat", "dog"]')
    return tmp_path


def head(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.split("---\n")[1])
    return found


def test_a_card_tells_what_the_run_does(folder: Path) -> None:
    (folder / "training.json").write_text(json.dumps(RECORD))
    text = card(folder, "me/cats", "apache-2.0")
    assert head(text)["pipeline_tag"] == "image-classification"
    assert head(text)["license"] == "apache-2.0"
    (result,) = head(text)["model-index"][0]["results"]
    assert result["metrics"] == [{"type": "accuracy", "value": 0.8125}]
    for told in (
        "# cats\n", "`vit-micro`", "2 labels: `cat`, `dog`", "`--data folder:pictures`: 1,200 of train, 300 of test",
        "zoo train vit-micro --lr 1e-3", "1,500 steps in 61 s", "| accuracy | 0.8125 | not known |",
        "`zoo evaluate` gives intervals", "zoo predict hf-hub:me/cats INPUT", "## Limits", "## Licence\n\napache-2.0",
    ):  # fmt: skip
        assert told in text, told


def test_scores_have_the_intervals_of_an_evaluation(folder: Path) -> None:
    (folder / "training.json").write_text(json.dumps(RECORD))
    (folder / "evaluation.json").write_text(json.dumps(EVALUATION))
    text = card(folder, "me/cats", "mit", limits="Only cats.")
    assert "| accuracy | 0.75 | 0.7 to 0.8 |" in text
    (result,) = head(text)["model-index"][0]["results"]
    assert result["dataset"]["name"] == "folder:other"
    assert "On 250 items of `folder:other`, test" in text
    assert "## Limits\n\nOnly cats." in text


def test_models_of_several_labels_have_the_hubs_name_of_what_they_are_for(tmp_path: Path) -> None:
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, task="multi-label", **SIZE), tmp_path)
    assert head(card(tmp_path, "me/cats", "mit"))["pipeline_tag"] == "image-classification"
    assert PIPELINES["multi-label", "encoder"] == "text-classification"


def test_a_card_of_weights_alone_claims_nothing(folder: Path) -> None:
    text = card(folder, "me/cats", "mit")
    assert "None were measured." in text
    assert "model-index" not in head(text)


def test_a_record_that_is_broken_is_told(folder: Path) -> None:
    (folder / "training.json").write_text("{")
    with pytest.raises(WeightsError, match=r"training\.json' cannot be read"):
        card(folder, "me/cats", "mit")
