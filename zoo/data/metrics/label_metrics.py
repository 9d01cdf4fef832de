"""Scores of multi-label classification: F1, exact match and mean average precision, of scikit-learn.

Axes: n examples, k labels.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo.core.losses.loss import binary_cross_entropy
from zoo.data.batches.batched_corpus import to_device
from zoo.data.corpus import Batch
from zoo.errors import DataError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement

SKLEARN = Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]")
THRESHOLD = 0.5
"""Probability from which on a label is given."""
SCORES = ("micro F1", "macro F1", "exact match", "mAP", "loss")
"""Names of the scores that `multi_label_scores` gives."""


def label_scores(model: Any, batches: Iterable[Batch], device: torch.device) -> dict[str, float]:
    """Evaluate a model in evaluation mode on batches of examples with several labels, see `multi_label_scores`."""
    answers, targets = [], []
    for batch in batches:
        inputs, target = to_device(batch, device)
        answers.append(model(*inputs).float().cpu())
        targets.append(target.float().cpu())
    if not answers:
        raise DataError("no examples: scores need at least one")
    return multi_label_scores(torch.cat(answers), torch.cat(targets))


def multi_label_scores(
    answer: Float[Tensor, "n k"], target: Float[Tensor, "n k"], threshold: float = THRESHOLD
) -> dict[str, float]:
    """Give F1 over all labels (micro) and the mean over labels (macro), exact match, mean average precision, and loss.

    A label without a target counts neither as right nor as wrong. A label that no example has is left out of the mean
    average precision; for its F1 see `f1_scores`.

    Args:
        answer: scores before the sigmoid.
        target: 1 for labels that are right, 0 for others, NaN where there is no target.
        threshold: probability, in [0, 1], from which on a label is given.

    Raises:
        DataError: If there are no targets.
        MissingLibraryError: If scikit-learn is not installed.
    """
    require("scores of multi-label classification", (SKLEARN,))
    from sklearn.metrics import average_precision_score

    known = ~target.isnan()
    if not known.any():
        raise DataError("no targets: scores need at least one that is not missing")
    chances = answer.sigmoid().numpy()
    asked, right = known.numpy(), (target == 1).numpy()
    given = (chances >= threshold) & asked
    precise = [
        average_precision_score(right[rows, place], chances[rows, place])
        for place, rows in enumerate(asked.T)
        if right[rows, place].any()
    ]
    return f1_scores(right, given, asked) | {
        "exact match": float((given == right).all(1)[asked.any(1)].mean()),
        "mAP": float(np.mean(precise)) if precise else 0.0,
        "loss": float(binary_cross_entropy(answer, target)),
    }


def f1_scores(
    right: Bool[np.ndarray, "n k"], given: Bool[np.ndarray, "n k"], known: Bool[np.ndarray, "n k"]
) -> dict[str, float]:
    """Give F1 over all labels (micro) and the mean over labels (macro), of scikit-learn.

    What is not known is left out; so is, of the mean, a label of which no example is known. A label that no example
    has and that is never given has an F1 of 0, as in scikit-learn.

    Args:
        right: labels that hold.
        given: labels that were given.
        known: labels that somebody knows.
    """
    from sklearn.metrics import f1_score

    by_label = [
        f1_score(right[rows, place], given[rows, place], zero_division=0)
        for place, rows in enumerate(known.T)
        if rows.any()
    ]
    return {
        "micro F1": float(f1_score(right[known], given[known], zero_division=0)) if by_label else float("nan"),
        "macro F1": float(np.mean(by_label)) if by_label else float("nan"),
    }
