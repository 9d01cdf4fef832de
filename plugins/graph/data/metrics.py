"""Metrics of graph models: classification, multi-label classification and regression.

The area under the ROC curve and R² are those of scikit-learn, which the extra `[graph]` does not require; it warns and
gives NaN for labels of one kind (tested), and takes seven times as long.

Axes: m graphs or nodes, k labels or numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo import DataError
from zoo.core import IGNORED, binary_cross_entropy, cross_entropy


def class_scores(answer: Float[Tensor, "m k"], target: Int[Tensor, " m"]) -> dict[str, float]:
    """Give the share whose class ranks first, and the loss; lower is better where a name begins with a minus sign.

    Raises:
        DataError: If there are no targets.
    """
    has_target = target != IGNORED
    _check_any(has_target)
    right = (answer.argmax(-1) == target)[has_target].double().mean()
    return {"accuracy": float(right), "-loss": -float(cross_entropy(answer.float(), target))}


def label_scores(answer: Float[Tensor, "m k"], target: Float[Tensor, "m k"]) -> dict[str, float]:
    """Give the area under the ROC curve, the mean over the labels that have both kinds; F1 over all; and the loss.

    Raises:
        DataError: If there are no targets.
    """
    has_target = ~target.isnan()
    _check_any(has_target)
    areas = [roc_auc(answer[known, place], target[known, place]) for place, known in enumerate(has_target.T)]
    found = [area for area in areas if area is not None]
    area = sum(found) / len(found) if found else 0.5
    predicted, true = (answer > 0)[has_target], (target == 1)[has_target]
    f1 = 2 * int((predicted & true).sum()) / max(1, int(predicted.sum() + true.sum()))
    return {"roc-auc": area, "f1": f1, "-loss": -float(binary_cross_entropy(answer.float(), target))}


def number_scores(answer: Float[Tensor, "m k"], target: Float[Tensor, "m k"]) -> dict[str, float]:
    """Give the share of the variance that is explained, R², and the mean error; the mean over numbers.

    Raises:
        DataError: If there are no targets.
    """
    _check_any(~target.isnan())
    pairs = [(mine[known].double(), true[known].double()) for mine, true, known in zip(
        answer.T, target.T, (~target.isnan()).T, strict=True) if known.any()]  # fmt: skip
    explained = [_explained(mine, true) for mine, true in pairs]
    errors = [float((mine - true).abs().mean()) for mine, true in pairs]
    return {"r2": sum(explained) / len(pairs), "-mae": -sum(errors) / len(pairs)}


def roc_auc(score: Float[Tensor, " m"], true: Float[Tensor, " m"]) -> float | None:
    """Give the probability that a right one scores higher than a wrong one, half where they score alike.

    None where there are not both.
    """
    positive, negative = score[true == 1].double(), score[true == 0].double().sort().values
    if not len(positive) or not len(negative):
        return None
    below = torch.searchsorted(negative, positive) + torch.searchsorted(negative, positive, right=True)
    return float(below.double().mean()) / 2 / len(negative)


def _explained(answer: Tensor, true: Tensor) -> float:
    """Give 1 less the squared error over that of the mean; 0 where all numbers are one and none is met."""
    off, spread = float(((answer - true) ** 2).sum()), float(((true - true.mean()) ** 2).sum())
    if spread == 0:
        return float(off == 0)
    return 1 - off / spread


def _check_any(has_target: Tensor) -> None:
    if not has_target.any():
        raise DataError("no targets: metrics need at least one that is not missing")


JUDGES: Mapping[str, Callable[[Any, Any], dict[str, float]]] = {
    "class": class_scores,
    "labels": label_scores,
    "numbers": number_scores,
}
"""What judges answers of each kind of target, see `zoo.core.losses.loss.TARGETS`."""
SCORES: Mapping[str, tuple[str, ...]] = {
    "class": ("accuracy", "-loss"),
    "labels": ("roc-auc", "f1", "-loss"),
    "numbers": ("r2", "-mae"),
}
"""Names of the scores that `JUDGES` give."""
