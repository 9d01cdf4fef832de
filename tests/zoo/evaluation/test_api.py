"""A run is judged on its data, or on others, by group; what does not fit is refused before anything is computed."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo


def test_a_run_is_judged_on_the_test_examples_of_its_training(trained: str, reviews: Path) -> None:
    found = zoo.evaluate(trained, samples=20)
    record = json.loads((Path(trained) / "training.json").read_text())
    assert found.scores["accuracy"].value == pytest.approx(record["test"]["accuracy"])
    assert found.own["accuracy"] == pytest.approx(record["test"]["accuracy"])
    assert found.count == record["sizes"]["test"]
    assert not found.notes
    assert zoo.evaluate(trained, samples=20).to_dict() == found.to_dict()
    assert {shown.text.split()[-1] for shown in found.worst} <= {"bad", "good", "thing"}


def test_all_examples_are_judged_by_group_and_written_as_a_table(trained: str, tmp_path: Path) -> None:
    found = zoo.evaluate(trained, split="all", by="shop", least=5, samples=10)
    assert found.count == 61
    assert list(found.groups) == ["north", "south"]
    assert found.small == {"west": 1}
    (note,) = found.notes
    assert "too good" in note
    with found.to_csv(tmp_path / "items.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 61
    right = [row["right"] == "True" for row in rows if row["shop"] == "north"]
    assert found.groups["north"]["accuracy"].value == pytest.approx(sum(right) / len(right))


def test_labels_are_matched_by_name_whatever_their_order_in_the_data(trained: str, tmp_path: Path) -> None:
    lines = "\n".join(f"thing {i},{('good', 'bad')[i % 2]}" for i in range(20))
    first, second = (tmp_path / name for name in ("a.jsonl", "b.csv"))
    rows = [dict(zip(("text", "label"), line.split(","), strict=True)) for line in lines.splitlines()]
    first.write_text("\n".join(map(json.dumps, rows)))
    second.write_text(f"text,label\n{lines}\n")
    corpora: list[Any] = [
        zoo.data.open_corpus(f"csv:{second}", zoo.info(f"local-dir:{trained}"), 0, f"{trained}/tokenizer.json")
    ]
    corpora.append(
        zoo.data.open_corpus(f"csv:{second}", zoo.info(f"local-dir:{trained}"), 0, f"{trained}/tokenizer.json")
    )
    turned = corpora[1]
    turned.labels = turned.labels[::-1]
    turned.classes = {split: 1 - numbers for split, numbers in turned.classes.items()}
    one, other = (zoo.evaluate(trained, corpus, split="all", samples=2) for corpus in corpora)
    assert one.scores == other.scores
    assert [row["wanted"] for row in one.items()] == [row["wanted"] for row in other.items()]
    assert zoo.evaluate(trained, f"jsonl:{first}", split="all", samples=2).scores["accuracy"].value == pytest.approx(
        one.scores["accuracy"].value
    )


def test_labels_that_the_run_lacks_are_named(trained: str, write_reviews: Callable[..., Path], tmp_path: Path) -> None:
    other = write_reviews(tmp_path / "other.csv", ("bad", "ugly"))
    with pytest.raises(zoo.DataError, match=r"has the label ugly, which .* lacks; it has bad, good"):
        zoo.evaluate(trained, f"csv:{other}")


FEW = [("the soup was good", "good"), ("the tea was bad", "bad")]


@pytest.mark.parametrize("examples", [FEW, FEW[:1], [*FEW, FEW[0]], [FEW[0]] * 5])
def test_examples_are_judged_however_few_there_are_of_a_label(
    trained: str, examples: list[Any], tmp_path: Path
) -> None:
    assert zoo.evaluate(trained, examples, samples=2).count == len(examples)
    file = tmp_path / "few.csv"
    file.write_text(
        "\n".join(["text,label", *(f"{text} {place},{label}" for place, (text, label) in enumerate(examples))])
    )
    assert zoo.evaluate(trained, f"csv:{file}", split="all", samples=2).count == len(examples)


def test_a_label_of_one_example_that_the_run_lacks_is_named(trained: str, tmp_path: Path) -> None:
    with pytest.raises(zoo.DataError, match=r"has the label angry, which .* lacks; it has bad, good"):
        zoo.evaluate(trained, [*FEW, ("why", "angry")])
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("text,label\na,good\n")
    test.write_text("text,label\nb,angry\n")
    with pytest.raises(zoo.DataError, match=r"has the label angry, which .* lacks; it has bad, good"):
        zoo.evaluate(trained, f"csv:{train}?test={test}")


def test_no_examples_to_judge_are_told_as_such(trained: str) -> None:
    with pytest.raises(zoo.DataError, match="data has no examples"):
        zoo.evaluate(trained, [])


def test_a_column_that_is_absent_is_told_with_those_there(trained: str) -> None:
    with pytest.raises(zoo.ConfigError, match=r"no such column; it has text, label, shop\. Did you mean"):
        zoo.evaluate(trained, by="shopp")


@pytest.mark.parametrize(
    ("keywords", "told"),
    [({"split": "tests"}, "split='tests' is not one of"), ({"samples": 0}, "samples=0: at least 1")],
)
def test_values_that_do_not_fit_are_refused(trained: str, keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(zoo.ConfigError, match=told):
        zoo.evaluate(trained, **keywords)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(zoo.WeightsError, match="holds no checkpoint"):
        zoo.evaluate(tmp_path)
    with pytest.raises(zoo.ConfigError, match="no published weights"):
        zoo.evaluate("vit-micro", "digits")
    with pytest.raises(zoo.ConfigError, match="run=Linear"):
        zoo.evaluate(torch.nn.Linear(1, 1), "digits")


def test_an_empty_split_is_refused(trained: str, reviews: Path) -> None:
    corpus: Any = zoo.data.open_corpus(
        f"csv:{reviews}", zoo.info(f"local-dir:{trained}"), 3, f"{trained}/tokenizer.json"
    )
    corpus.sizes = {**corpus.sizes, "test": 0}
    with pytest.raises(zoo.DataError, match="has no example in 'test': train"):
        zoo.evaluate(trained, corpus)


def test_data_of_another_task_are_refused(trained: str, tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("\n\n".join(f"w{i} A\nv B" for i in range(20)))
    with pytest.raises(zoo.ConfigError, match=r"made for task 'classify', the data 'a\.conll' ask for 'tag'"):
        zoo.evaluate(trained, tmp_path / "a.conll")


TINY: dict[str, Any] = {"steps": 2, "batch_size": 8, "tokenizer": "byte", "seed": 3}


def test_a_training_that_was_not_saved_is_judged_on_what_it_did_not_train_on(reviews: Path) -> None:
    trained = zoo.train("bert-micro", f"csv:{reviews}", **TINY)
    for data in (f"csv:{reviews}", None):
        found = zoo.evaluate(trained, data, samples=2)
        assert found.own["loss"] == pytest.approx(trained.scores["loss"])
        assert not found.notes


def test_of_a_model_without_a_record_nobody_knows_the_split(trained: str, reviews: Path) -> None:
    spec = zoo.info(f"local-dir:{trained}")
    corpus = zoo.data.open_corpus(f"csv:{reviews}", spec, 0, f"{trained}/tokenizer.json")
    (note,) = zoo.evaluate(zoo.create(f"local-dir:{trained}"), corpus, samples=2).notes
    assert "no record of its training" in note


def test_a_run_of_the_hub_is_judged_on_the_split_of_its_record(
    trained: str, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(place: str, filenames: tuple[str, ...]) -> Path | None:
        return next((Path(trained) / name for name in filenames if (Path(trained) / name).is_file()), None)

    monkeypatch.setattr("zoo.weights.hub._download", download)
    found = zoo.evaluate("hf-hub:org/name", f"csv:{reviews}", samples=2)
    assert found.scores == zoo.evaluate(trained, samples=2).scores
    assert not found.notes


def test_all_examples_that_a_program_gives_are_judged(trained: str, reviews: Path) -> None:
    pairs = [("a bad thing", "bad"), ("a good thing", "good"), ("a worse thing", "bad")] * 4
    found = zoo.evaluate(trained, pairs, samples=2)
    assert found.count == len(pairs)
    assert sorted(row["wanted"] for row in found.items()) == ["bad"] * 8 + ["good"] * 4
    assert not found.notes
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(pairs, columns=["said", "mood"]).assign(shop="north")
    columns = {"text": "said", "label": "mood"}
    framed = zoo.evaluate(trained, frame, columns=columns, split="all", by="shop", samples=2)
    assert framed.scores == found.scores
    assert list(framed.groups) == ["north"]


def test_a_training_on_examples_asks_for_data() -> None:
    pairs = [(f"{word} {number}", word) for number in range(20) for word in ("bad", "good")]
    trained = zoo.train("bert-micro", pairs, **TINY)
    with pytest.raises(zoo.ConfigError, match=r"trained on examples from Python, which no run stores: give .* data="):
        zoo.evaluate(trained)
    assert zoo.evaluate(trained, pairs[:6], samples=2).count == 6
