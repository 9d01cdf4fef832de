from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import zoo
from zoo import ConfigError
from zoo.data.corpus import Batch
from zoo.training.losses.own_loss import own_score

OPTIONS: dict[str, Any] = {"steps": 4, "batch_size": 8, "validations": 2, "precision": "32-true", "accelerator": "cpu"}


def same(one: Any, other: Any) -> bool:
    a, b = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(a[key], b[key]) for key in a)


def focal(answer: Tensor, target: Tensor) -> Tensor:
    """Be another loss than that of the data."""
    chosen = answer.log_softmax(-1).gather(1, target[:, None])[:, 0]
    return -((1 - chosen.exp()) ** 2 * chosen).mean()


def balanced(answers: Tensor, targets: Tensor) -> float:
    hits = answers.argmax(-1) == targets
    return float(torch.stack([hits[targets == label].float().mean() for label in targets.unique()]).mean())


def test_a_loss_of_the_user_takes_the_place_of_that_of_the_data(quadrants: Any, tiny: dict[str, Any]) -> None:
    def train(**options: Any) -> Any:
        return zoo.train("vit-micro", quadrants, **OPTIONS, **tiny, **options)

    own = train()
    assert same(own, train(loss=functional.cross_entropy))
    assert not same(own, train(loss=focal))


def test_another_loss_is_another_training(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    zoo.train("vit-micro", quadrants, out=tmp_path / "out", loss=focal, **OPTIONS, **tiny)
    with pytest.raises(ConfigError, match="loss: 'focal' before, None now"):
        zoo.train("vit-micro", quadrants, out=tmp_path / "out", resume=True, **OPTIONS, **tiny)


def test_another_lambda_is_another_training(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    again: dict[str, Any] = {"out": tmp_path / "out"} | OPTIONS | tiny
    zoo.train("vit-micro", quadrants, loss=lambda a, t: functional.cross_entropy(a, t), **again)
    again["resume"] = True
    with pytest.raises(ConfigError, match="loss: '<lambda> "):
        zoo.train("vit-micro", quadrants, loss=lambda a, t: 2 * functional.cross_entropy(a, t), **again)
    zoo.train("vit-micro", quadrants, loss=lambda a, t: functional.cross_entropy(a, t), **again)


def test_a_metric_of_the_user_chooses_the_checkpoint(quadrants: Any, tiny: dict[str, Any]) -> None:
    trained = zoo.train("vit-micro", quadrants, metric=balanced, **OPTIONS, **tiny)
    assert next(iter(trained.scores)) == "balanced"
    assert trained.scores["balanced"] == trained.scores["accuracy"]  # the classes are equal
    assert next(iter(trained.outcome.deciding)) == "balanced"


def test_a_metric_named_as_one_of_the_data_takes_its_place(quadrants: Any, tiny: dict[str, Any]) -> None:
    def accuracy(answers: Tensor, targets: Tensor) -> float:
        return 0.125

    trained = zoo.train("vit-micro", quadrants, metric=accuracy, **OPTIONS, **tiny)
    assert trained.scores["accuracy"] == trained.outcome.deciding["accuracy"] == 0.125


def test_places_without_a_target_are_left_out_of_a_metric(quadrants: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def held_out(split: str, batch_size: int) -> Any:
        yield Batch((torch.eye(3)[[0, 1]][None],), torch.tensor([[0, -100]]))
        yield Batch((torch.eye(3)[[2]][None],), torch.tensor([[1]]))

    seen: list[Any] = []

    def look(answers: Tensor, targets: Tensor) -> float:
        seen.extend([answers, targets])
        return 0.5

    monkeypatch.setattr(quadrants, "held_out", held_out)
    assert own_score(look, quadrants, torch.nn.Identity(), "test", 2) == 0.5
    assert torch.equal(seen[0], torch.eye(3)[[0, 2]])
    assert seen[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"loss": lambda answer, target: answer}, r"gave a Tensor of shape \(8, 4\): the mean loss"),
        ({"loss": lambda answer, target: 1.0}, r"gave a float: the mean loss"),
        ({"loss": 5}, "loss=5: a function of answer and target is wanted"),
        ({"metric": lambda answers, targets: "good"}, "metric=<lambda> gave no number"),
        ({"loss": functional.cross_entropy, "class_weights": "balanced"}, "losses too: take one"),
        ({"callbacks": [print]}, "a sub-class of zoo.training.Callback is wanted"),
        ({"logger": 5}, "logger=5: a logger of Lightning Fabric is wanted"),
        ({"logger": "csv,mlflow"}, "logger='csv,mlflow': names are csv, tensorboard, wandb"),
    ],
)
def test_what_is_no_loss_metric_callback_or_logger(
    quadrants: Any, tiny: dict[str, Any], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        zoo.train("vit-micro", quadrants, **OPTIONS, **tiny, **options)
