import importlib.metadata
import math

import pytest
import torch
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

from zoo.core.losses.loss import IGNORED
from zoo.errors import DataError
from zoo.plugins.graph.data.metrics import class_scores, label_scores, number_scores, roc_auc


def test_the_area_under_the_roc_curve_is_that_of_scikit_learn_also_with_ties() -> None:
    torch.manual_seed(0)
    score, true = torch.randint(6, (50,)).float(), torch.randint(2, (50,)).float()
    assert roc_auc(score, true) == pytest.approx(metrics.roc_auc_score(true, score))


def test_a_label_of_one_kind_has_no_area_for_which_scikit_learn_warns() -> None:
    score, true = torch.tensor([0.1, 0.2]), torch.tensor([1.0, 1.0])
    assert roc_auc(score, true) is None
    with pytest.warns(UndefinedMetricWarning, match="Only one class"):
        assert math.isnan(metrics.roc_auc_score(true, score))


def test_graphs_do_without_scikit_learn() -> None:
    needed = importlib.metadata.requires("attention-zoo") or []
    graph = [name for name in needed if 'extra == "graph"' in name]
    assert any(name.startswith("networkx") for name in graph)
    assert not any(name.startswith(("scikit-learn", "torchmetrics")) for name in graph)


def test_labels_are_judged_as_scikit_learn_does_without_what_is_not_asked() -> None:
    torch.manual_seed(0)
    answer, target = torch.randn(40, 3), torch.randint(2, (40, 3)).float()
    target[::5, 1] = math.nan
    found = label_scores(answer, target)
    known = [~target[:, place].isnan() for place in range(3)]
    areas = [metrics.roc_auc_score(target[k, p], answer[k, p]) for p, k in enumerate(known)]
    assert found["roc-auc"] == pytest.approx(sum(areas) / 3)
    asked = ~target.isnan()
    assert found["f1"] == pytest.approx(metrics.f1_score(target[asked], answer[asked] > 0))


def test_numbers_are_judged_as_scikit_learn_does() -> None:
    torch.manual_seed(0)
    answer, target = torch.randn(30, 2), torch.randn(30, 2)
    found = number_scores(answer, target)
    assert found["r2"] == pytest.approx(metrics.r2_score(target, answer))
    assert found["-mae"] == pytest.approx(-metrics.mean_absolute_error(target, answer))


@pytest.mark.parametrize("answer", [[2.0, 2.0, 2.0], [2.0, 2.0, 3.0]])
def test_numbers_that_are_all_one_are_judged_as_scikit_learn_does(answer: list[float]) -> None:
    target = torch.full((3, 1), 2.0)
    found = number_scores(torch.tensor(answer)[:, None], target)
    assert found["r2"] == metrics.r2_score(target, torch.tensor(answer)[:, None])


def test_the_mean_as_an_answer_explains_nothing() -> None:
    target = torch.tensor([[1.0], [2.0], [math.nan], [6.0]])
    assert number_scores(torch.full((4, 1), 3.0), target)["r2"] == pytest.approx(0)


def test_only_classes_that_are_asked_are_counted() -> None:
    answer = torch.eye(3)
    assert class_scores(answer, torch.tensor([0, 2, IGNORED]))["accuracy"] == 0.5


def test_nothing_asked_is_an_error() -> None:
    with pytest.raises(DataError, match="no targets"):
        class_scores(torch.eye(2), torch.tensor([IGNORED, IGNORED]))
