from typing import Any

import pytest
from torch import nn

from zoo import ConfigError
from zoo.factory import create
from zoo.training.config import Settings
from zoo.training.defaults import resolved


def choose(quadrants: Any, given: Settings | None = None, name: str = "vit-micro", **changes: Any) -> Settings:
    class Model(nn.Module):
        num_features = 64

    options: dict[str, Any] = {"per_epoch": 5.0, "tuned": False, "precision": "32-true", "model": Model()} | changes
    return resolved(given or Settings(), create.info(name), quadrants, **options)


def test_everything_is_chosen(quadrants: Any) -> None:
    found = choose(quadrants)
    assert (found.steps, found.optimizer, found.schedule, found.warmup) == (100, "muon", "trapezoid", 10)
    assert (found.learning_rate, found.label_smoothing, found.validations) == (3e-3, 0.0, 10)
    assert choose(quadrants, name="resnet-micro").optimizer == "adamw"


def test_hybrids_take_muon_for_their_kernels_too(quadrants: Any) -> None:
    assert choose(quadrants, name="caption-rnn-tiny").optimizer == "muon-hidden"


def test_what_is_given_is_taken(quadrants: Any) -> None:
    given = Settings(epochs=3.0, optimizer="adam", schedule="cosine", learning_rate=0.5, warmup=2, label_smoothing=0.0)
    found = choose(quadrants, given)
    assert (found.steps, found.optimizer, found.schedule, found.learning_rate) == (15, "adam", "cosine", 0.5)
    assert (found.warmup, found.label_smoothing, found.validations) == (2, 0.0, 10)


def test_weights_that_were_trained_take_small_steps(quadrants: Any) -> None:
    found = choose(quadrants, tuned=True)
    assert (found.optimizer, found.learning_rate, found.schedule) == ("adamw", 1e-4, "cosine")


def test_noam_is_the_rate_of_the_paper(quadrants: Any) -> None:
    found = choose(quadrants, Settings(schedule="noam", warmup=400, steps=10))
    assert found.optimizer == "adam"
    assert found.learning_rate == pytest.approx(64**-0.5 * 400**-0.5)


def test_a_model_that_writes_smooths_its_labels_as_it_says_or_by_a_tenth(quadrants: Any) -> None:
    quadrants.task = "generate"
    assert choose(quadrants).label_smoothing == 0.1
    model = nn.Linear(1, 1)
    model.label_smoothing = 0.0  # type: ignore[assignment]
    assert choose(quadrants, model=model).label_smoothing == 0.0


def test_one_loss_scale_serves_one_optimizer(quadrants: Any) -> None:
    assert choose(quadrants, precision="16-mixed").optimizer == "adamw"
    with pytest.raises(ConfigError, match="optimizer='muon' with precision='16-mixed'"):
        choose(quadrants, Settings(optimizer="muon"), precision="16-mixed")


def test_nobody_has_to_wait_long_who_says_nothing(quadrants: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.training.defaults.MOST_STEPS", 30)
    assert choose(quadrants).steps == 30
    assert choose(quadrants, Settings(epochs=20.0)).steps == 100
