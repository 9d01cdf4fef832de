import math
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.data import SCORES, Batch, label_scores, multi_label_scores
from zoo.errors import DataError

ANSWER = torch.tensor([[3.0, -3, 2], [-1, 2, -2], [1, 1, -4], [-3, -2, 1]])
TARGET = torch.tensor([[1.0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]])


def counted(answer: Tensor, target: Tensor) -> dict[str, float]:
    """Count by hand, label by label."""
    f1s, precise, hits, told, true = [], [], 0, 0, 0
    for scores, right in zip(answer.T.tolist(), target.T.tolist(), strict=True):
        given = [score >= 0 for score in scores]
        hit = sum(g and r == 1 for g, r in zip(given, right, strict=True))
        f1s.append(2 * hit / max(1, sum(given) + sum(right)))
        order = [r for _, r in sorted(zip(scores, right, strict=True), reverse=True)]
        if any(order):
            precise.append(sum(sum(order[: i + 1]) / (i + 1) for i, r in enumerate(order) if r) / sum(order))
        hits, told, true = hits + hit, told + sum(given), true + int(sum(right))
    exact = ((answer >= 0) == (target == 1)).all(1).double().mean()
    return {
        "micro F1": 2 * hits / (told + true),
        "macro F1": sum(f1s) / len(f1s),
        "exact match": float(exact),
        "mAP": sum(precise) / len(precise),
    }


def test_scores_are_those_counted_by_hand() -> None:
    draw = torch.Generator().manual_seed(0)
    answer, target = torch.randn(40, 5, generator=draw), (torch.rand(40, 5, generator=draw) < 0.4).float()
    for a, t in ((ANSWER, TARGET), (answer, target)):
        found = multi_label_scores(a, t)
        assert tuple(found) == SCORES
        assert {name: found[name] for name in SCORES[:4]} == pytest.approx(counted(a, t))
        assert found["loss"] == pytest.approx(float(-(t * a.sigmoid().log() + (1 - t) * (-a).sigmoid().log()).mean()))


def test_a_higher_threshold_gives_fewer_labels() -> None:
    assert multi_label_scores(ANSWER, TARGET)["exact match"] == 0.75
    assert multi_label_scores(ANSWER, TARGET, 0.8)["exact match"] == 0.5  # of the third, the right label too is lost


def test_a_label_of_which_nobody_knows_does_not_count() -> None:
    target = TARGET.clone()
    target[2, 1] = math.nan
    assert multi_label_scores(ANSWER, target)["micro F1"] == multi_label_scores(ANSWER, target)["exact match"] == 1
    nobody = torch.full_like(TARGET, math.nan)
    assert multi_label_scores(torch.cat([ANSWER, ANSWER]), torch.cat([TARGET, nobody])) == pytest.approx(
        multi_label_scores(ANSWER, TARGET)
    )
    with pytest.raises(DataError, match="no targets"):
        multi_label_scores(ANSWER, nobody)


def test_a_label_that_no_example_has_is_left_out_of_the_mean_average_precision() -> None:
    answer, target = torch.cat([ANSWER, ANSWER[:, :1]], 1), torch.cat([TARGET, torch.zeros(4, 1)], 1)
    assert multi_label_scores(answer, target)["mAP"] == pytest.approx(multi_label_scores(ANSWER, TARGET)["mAP"])


def test_batches_are_scored_together() -> None:
    halves: list[Any] = [Batch((ANSWER[rows],), TARGET[rows]) for rows in (slice(0, 1), slice(1, 4))]
    whole = multi_label_scores(ANSWER, TARGET)
    assert label_scores(lambda x: x, halves, torch.device("cpu")) == pytest.approx(whole)
    with pytest.raises(DataError, match="no examples"):
        label_scores(lambda x: x, [], torch.device("cpu"))
