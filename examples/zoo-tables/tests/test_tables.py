from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import zoo_tables.plugin
from zoo_tables.data import Columns, RowCorpus
from zoo_tables.study import boosted, drawn

import zoo
from zoo import DataError, InputError, Registry
from zoo.data import DatasetInfo, open_corpus
from zoo.registry import using
from zoo.testing import PluginConformance


class TestTables(PluginConformance):
    plugin = zoo_tables.plugin


@pytest.fixture(autouse=True)
def _only_this() -> Iterator[None]:
    with using(Registry([zoo_tables.plugin], autoload=False)):
        yield


def test_numbers_are_standardised_and_what_is_missing_or_unknown_is_told_apart() -> None:
    rows = [("1", "a", "x"), ("3", "b", "y"), ("", "", "x")]
    columns = Columns.learned(("n", "c"), rows)
    numbers, ids = columns.inputs([*rows, ("5", "new")])
    assert numbers.flatten().nan_to_num(-9).tolist() == [-1, 1, -9, 3]
    assert ids.flatten().tolist() == [1, 2, 0, 0]
    assert columns.inputs([])[0].shape == (0, 1)


def test_a_missing_number_changes_the_answer_and_its_value_does_not_leak() -> None:
    torch.manual_seed(0)
    model = zoo.create("rows-tiny").eval()
    numbers, categories = torch.zeros(1, 4), torch.zeros(1, 2, dtype=torch.long)
    gone = numbers.clone()
    gone[0, 1] = torch.nan
    assert model(gone, categories).isfinite().all()
    assert not torch.allclose(model(gone, categories), model(numbers, categories))


def table(folder: Path) -> Path:
    rows = [f"{place % 7},{'ab'[place % 2]},{place / 3:.2f},{'yes' if place % 2 else 'no'}" for place in range(80)]
    path = folder / "table.csv"
    path.write_text("\n".join(["n,kind,x,label", *rows]) + "\n")
    return path


def test_a_file_is_read_and_any_column_can_be_the_target(tmp_path: Path) -> None:
    path = table(tmp_path)
    corpus = open_corpus(f"rows:{path}", zoo.info("rows-tiny"))
    assert corpus.overrides() == {"num_classes": 2, "numbers": 2, "categories": [2]}
    assert sum(corpus.sizes.values()) == 80
    other = open_corpus(f"rows:{path}?target=kind", zoo.info("rows-tiny"))
    assert (other.labels, other.columns.names) == (["a", "b"], ("n", "x", "label"))


@pytest.mark.parametrize(
    ("text", "option", "told"),
    [
        ("a,b\n1,x\n2\n", "", "line 3: not 2 cells"),
        ("a,b\n1,x\n", "?target=c", "no column 'c': it has a, b"),
        ("a,b\n1,x\n", "?label=b", r"write \?target=COLUMN"),
        ("", "", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(text: str, option: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=told):
        open_corpus(f"rows:{tmp_path / 't.csv'}{option}", zoo.info("rows-tiny"))


def test_rows_are_predicted_as_they_stand_in_the_file(tmp_path: Path) -> None:
    zoo.train("rows-tiny", f"rows:{table(tmp_path)}", out=tmp_path / "run", steps=40, depth=1, seed=0)
    pipeline = zoo.Pipeline(str(tmp_path / "run"))
    found = dict(pipeline.predict(["3,a,", "3,b,1"]))
    assert [max(answer, key=answer.get) for answer in found.values()] == ["no", "yes"]
    with pytest.raises(InputError, match="has 2 cells, the columns are n, kind, x"):
        list(pipeline.predict(["3,b"]))
    assert not pipeline.reads_files  # so that `zoo serve` takes rows as texts


@pytest.mark.parametrize("word", ["", "NA", "nan", "NaN", "null", "None", "?", " N/A "])
def test_words_for_missing_leave_a_column_one_of_numbers(word: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["n,label", *(f"{word if i % 4 == 0 else i},{'ab'[i % 2]}" for i in range(60))]) + "\n")
    corpus = open_corpus(f"rows:{path}", zoo.info("rows-tiny"))
    assert corpus.overrides()["numbers"] == 1
    assert {row[0] for row in corpus.parts["train"] if row[0] == word.strip()} <= {""}
    assert corpus.columns.inputs([[""], ["1"]])[0].isnan().flatten().tolist() == [True, False]


def test_infinite_numbers_are_missing_and_huge_ones_are_cut() -> None:
    columns = Columns.learned(("n",), [("1", "x"), ("3", "x"), ("inf", "y"), ("-inf", "y")])
    numbers, _ = columns.inputs([("inf",), ("-Infinity",), ("1e400",), ("1e300",), ("3",)])
    assert numbers.isnan().flatten().tolist() == [True, True, True, False, False]
    assert numbers[3:].flatten().tolist() == [1e6, 1.0]


def test_rows_of_a_sorted_file_are_drawn_with_the_shares_of_their_classes() -> None:
    rows = [(str(i), "a") for i in range(60)] + [(str(i), "b") for i in range(30)] + [("0", "c")]
    kept = drawn(rows, 30, seed=0)
    counts = [sum(row[-1] == label for row in kept) for label in "abc"]
    assert sum(counts) == 30
    assert counts[2] == 1
    assert abs(counts[0] - 2 * counts[1]) <= 2
    assert kept != drawn(rows, 30, seed=1)
    assert len({*kept}) == 30


def test_rows_of_an_unseen_class_count_for_neither_method() -> None:
    pytest.importorskip("sklearn")
    train = [(str(i % 7), "ab"[i % 2]) for i in range(40)]
    about = DatasetInfo("t", "", "1")
    seen = {"train": train, "validation": train[:2], "test": train[:8]}
    unseen = {**seen, "test": [*train[:8], ("3", "never"), ("4", "never")]}
    scores = {boosted(RowCorpus(about, zoo.info("rows-tiny"), ("n",), parts)) for parts in (seen, unseen)}
    assert len(scores) == 1


@pytest.mark.slow
def test_the_study_compares_with_gradient_boosting_on_the_same_rows(tmp_path: Path) -> None:
    from zoo_tables.study import STUDY

    records = STUDY.run(tmp_path, sizes="60", steps=60, seeds=1, workers=0, progress=False)
    scores = {record["config"]["method"]: record["accuracy"] for record in records}
    assert {*scores} == {"gradient-boosting", "rows-tiny"}
    assert min(scores.values()) > 0.55
    assert "60 rows:" in (tmp_path / "report.md").read_text()
