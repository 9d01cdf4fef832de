"""Several labels at once, some of them not known."""

import numpy as np
import pytest
from sklearn import metrics

from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.several_labels import LabelsJudge


def test_scores_are_those_of_scikit_learn_over_what_is_known() -> None:
    rng = np.random.default_rng(0)
    values, targets = rng.random((40, 3)).round(1), (rng.random((40, 3)) < 0.4).astype(float)
    targets[:10, 1] = np.nan
    judge = LabelsJudge(Answers([Item("test", i) for i in range(40)], np.arange(40), values, targets), ["a", "b", "c"])
    found = judge.scores(np.arange(40))
    columns = [(targets[10 * (i == 1) :, i], values[10 * (i == 1) :, i]) for i in range(3)]
    assert found["ROC AUC"] == pytest.approx(np.mean([metrics.roc_auc_score(*pair) for pair in columns]))
    assert found["macro F1"] == pytest.approx(np.mean([metrics.f1_score(t, v > 0.5) for t, v in columns]))
    assert len(judge.rows()) == 40
