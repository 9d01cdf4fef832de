from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.class_weights import Balanced, balanced

CLASSES = torch.tensor([0, 0, 0, 1, 2, 2, -100])


class Rare:
    """Examples of three classes, of which one is rare."""

    name, task = "rare", "classify"

    def overrides(self) -> dict[str, Any]:
        return {}

    def classes_of(self, split: str) -> Tensor:
        return CLASSES

    def placed(self, split: str, batch_size: int) -> Any:
        raise NotImplementedError


class Three(nn.Module):
    num_classes = 3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_torch_with_scikit_learns_weights(smoothing: float) -> None:
    utils = pytest.importorskip("sklearn.utils.class_weight")
    known = CLASSES[:-1].numpy()
    weights = torch.from_numpy(utils.compute_class_weight("balanced", classes=np.arange(3), y=known))
    torch.testing.assert_close(balanced(CLASSES, 3).double(), weights, rtol=1e-6, atol=1e-6)
    scores, target = torch.randn(5, 3, dtype=torch.float64), torch.tensor([0, 1, 2, 1, -100])
    goal = cross_entropy(scores, target, weights)
    objective = Balanced(Rare(), Three(), smoothing)
    found = objective(lambda x: x, Batch((scores,), target), 0)
    if not smoothing:
        torch.testing.assert_close(found, goal, rtol=1e-6, atol=1e-6)
    shares = one_hot(target.clamp(min=0), 3).double() * (target >= 0)[:, None]
    torch.testing.assert_close(objective(lambda x: x, Batch((scores,), shares), 0), found)


def test_a_class_without_examples_is_named() -> None:
    with pytest.raises(ConfigError, match="no training example is of class 3"):
        balanced(CLASSES, 4)


def test_examples_without_classes_are_refused() -> None:
    class Numbers:
        name = "numbers"

    with pytest.raises(ConfigError, match="class_weights='balanced' with 'numbers'"):
        Balanced(Numbers(), nn.Identity())


@pytest.mark.parametrize(
    ("task", "target"), [("multi-label", "class"), ("classify", "numbers"), ("classify", "labels")]
)
def test_several_labels_and_numbers_are_no_classes(task: str, target: str) -> None:
    class Others(Rare):
        """Tell classes, as corpora of graphs do whatever their targets are."""

        def overrides(self) -> dict[str, Any]:
            return {"target": target}

    others = Others()
    others.task = task
    with pytest.raises(ConfigError, match="class_weights='balanced' with 'rare': its examples have no class each"):
        Balanced(others, Three())
