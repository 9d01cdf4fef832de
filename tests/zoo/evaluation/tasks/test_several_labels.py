"""Several labels at once, some of them not known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn import metrics

import zoo
from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.tasks.several_labels import LabelsJudge


def test_scores_are_those_of_scikit_learn_over_what_is_known() -> None:
    rng = np.random.default_rng(0)
    values, targets = rng.random((40, 3)).round(1), (rng.random((40, 3)) < 0.4).astype(float)
    targets[:10, 1] = np.nan
    judge = LabelsJudge(Answers([Item("test", i) for i in range(40)], np.arange(40), values, targets), ["a", "b", "c"])
    found = judge.scores(np.arange(40))
    columns = [(targets[10 * (i == 1) :, i], values[10 * (i == 1) :, i]) for i in range(3)]
    assert found["ROC AUC"] == pytest.approx(np.mean([metrics.roc_auc_score(*pair) for pair in columns]))
    assert found["macro F1"] == pytest.approx(np.mean([metrics.f1_score(t, v >= 0.5) for t, v in columns]))
    assert len(judge.rows()) == 40


@pytest.mark.parametrize("count", [1, 3])
def test_f1_is_that_of_the_data_where_labels_are_unknown_or_lie_on_the_threshold(count: int) -> None:
    draw = torch.Generator().manual_seed(count)
    answer = torch.randn(30, count, generator=draw).round()  # a score of 0 is a probability of .5
    target = (torch.rand(30, count, generator=draw) < 0.4).float()
    target[torch.rand(30, count, generator=draw) < 0.3] = float("nan")
    if count > 1:
        target[:, 2] = float("nan")  # nobody knows this label
    own = zoo.data.multi_label_scores(answer, target)
    values = answer.double().sigmoid().numpy()
    judge = LabelsJudge(
        Answers([Item("test", i) for i in range(30)], np.arange(30), values, target.double().numpy()),
        [str(place) for place in range(count)],
    )
    found = judge.scores(np.arange(30))
    columns = [(target[:, i], answer[:, i] >= 0, ~target[:, i].isnan()) for i in range(min(count, 2))]
    by_hand = [metrics.f1_score((t[k] == 1).numpy(), a[k].numpy(), zero_division=0) for t, a, k in columns]
    assert found["macro F1"] == own["macro F1"] == pytest.approx(np.mean(by_hand))
    assert found["micro F1"] == own["micro F1"]


SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


def written(folder: Path, labels: tuple[str, str], kind: str) -> str:
    """Write texts or pictures that are red, late, both or neither; of every ninth nobody knows the first."""
    rows = [f"{kind},{','.join(labels)},shop"]
    for number in range(60):
        red, late = number % 2, (number // 2) % 2
        told = {"red": "" if number % 9 == 0 and kind == "text" else str(red), "late": str(late), "odd": str(late)}
        first = f"thing {number} {'red' * red} {'late' * late}"
        if kind == "path":
            first = f"{number}.png"
            pixels = np.random.default_rng(number).integers(0, 40, (8, 8, 3)) + 200 * np.array([red, 0, late])
            Image.fromarray(pixels.astype(np.uint8)).save(folder / first)
        rows.append(f"{first},{','.join(told[label] for label in labels)},{('north', 'south')[number // 4 % 2]}")
    path = folder / f"{'-'.join(labels)}.csv"
    path.write_text("\n".join(rows) + "\n")
    return f"csv:{path}?labels={','.join(labels)}"


@pytest.mark.parametrize(("name", "kind"), [("bert-micro", "text"), ("vit-micro", "path")])
def test_a_run_on_several_labels_is_judged_by_name_of_label_and_by_group(name: str, kind: str, tmp_path: Path) -> None:
    data = written(tmp_path, ("red", "late"), kind)
    more: dict[str, Any] = {"tokenizer": "byte"} if kind == "text" else {"patch_size": 4}
    zoo.train(name, data, out=tmp_path / "run", steps=3, batch_size=8, seed=3, **SIZES, **more)
    found = zoo.evaluate(tmp_path / "run", samples=5, by="shop", least=1)
    assert isinstance(found.judge, LabelsJudge)
    assert found.scores["micro F1"].value == pytest.approx(found.own["micro F1"])
    assert set(found.groups) <= {"north", "south"}
    assert found.groups
    assert len(found.worst) == found.count
    first = found.worst[0]
    assert "thing" in first.text if kind == "text" else first.medium is not None
    turned = zoo.evaluate(tmp_path / "run", written(tmp_path, ("late", "red"), kind), split="all", samples=2)
    straight = zoo.evaluate(tmp_path / "run", data, split="all", samples=2)
    assert turned.count == straight.count == 60
    for score, each in straight.scores.items():
        assert turned.scores[score].value == pytest.approx(each.value)
    with pytest.raises(zoo.DataError, match="has the label odd, which"):
        zoo.evaluate(tmp_path / "run", written(tmp_path, ("red", "odd"), kind))
