from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import ks_2samp

import zoo
from zoo.data.corpus import open_corpus
from zoo.plugins.text.data.labelled_corpus import LabelledCorpus
from zoo.plugins.text.data.synthetic import opinion_tasks
from zoo.plugins.text.data.synthetic.opinion_tasks import bag_of_words_accuracy, draw
from zoo.plugins.text.data.synthetic.sentiment import review
from zoo.plugins.text.data.synthetic.toxicity import comment

SIZES = (2000, 200, 600)


@pytest.fixture(params=[review, comment])
def write(request: pytest.FixtureRequest) -> opinion_tasks.Write:
    found: opinion_tasks.Write = request.param
    return found


def test_parts_are_balanced_reproducible_and_share_no_text(write: opinion_tasks.Write) -> None:
    parts, again = draw(write, ("a", "b"), SIZES, 0), draw(write, ("a", "b"), SIZES, 0)
    assert [list(part) for part in parts] == [list(part) for part in again]
    assert list(parts.train) != list(draw(write, ("a", "b"), SIZES, 1).train)
    assert [len(part) for part in parts] == list(SIZES)
    for part in parts:
        counts = Counter(each.label for each in part)
        assert counts["a"] == counts["b"]
    assert len({each.text for part in parts for each in part}) == sum(SIZES)


@pytest.mark.parametrize("write", [review, comment])
def test_parts_have_as_many_short_texts_as_others(write: opinion_tasks.Write) -> None:
    parts = draw(write, ("a", "b"), (5000, 500, 1000), 0)
    train, *held = ([len(each.text.split()) for each in part] for part in parts)
    assert ks_2samp(train, held[0] + held[1]).statistic < 0.05  # .2 of comments in the order in which they are drawn


def test_a_bag_of_words_does_not_solve_them(write: opinion_tasks.Write) -> None:
    assert bag_of_words_accuracy(draw(write, ("a", "b"), SIZES, 0)) < 0.75


def test_a_bag_of_words_solves_what_single_words_tell() -> None:
    told = draw(lambda rng, right: f"{'yes' if right else 'no'} {rng.random()}", ("a", "b"), SIZES, 0)
    assert bag_of_words_accuracy(told) > 0.99


@pytest.mark.parametrize(
    ("name", "labels"), [("sentiment", ["negative", "positive"]), ("toxicity", ["civil", "toxic"])]
)
def test_they_are_sources_by_name(name: str, labels: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinion_tasks, "SIZES", (60, 20, 20))
    corpus = open_corpus(name, zoo.info("bert-micro"))
    assert isinstance(corpus, LabelledCorpus)
    assert corpus.labels == labels
    assert corpus.sizes == {"train": 60, "validation": 20, "test": 20}


def test_files_of_sst_and_imdb_are_read_by_their_own_columns(tmp_path: Path) -> None:
    rows = [(f"review {number} is {'fine' if number % 2 else 'sad'}", number % 2) for number in range(30)]
    (tmp_path / "sst.tsv").write_text("sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    imdb = "".join(f'"{text}<br />, yes",{("negative", "positive")[label]}\n' for text, label in rows)
    (tmp_path / "imdb.csv").write_text("review,sentiment\n" + imdb)
    spec = zoo.info("bert-micro")
    sst = open_corpus(f"labelled:{tmp_path}/sst.tsv?text=sentence&label=label", spec, tokenizer="byte")
    assert (sum(sst.sizes.values()), sst.labels) == (30, ["0", "1"])  # type: ignore[attr-defined]
    other = open_corpus(f"labelled:{tmp_path}/imdb.csv?text=review&label=sentiment", spec, tokenizer="byte")
    assert (sum(other.sizes.values()), other.labels) == (30, ["negative", "positive"])  # type: ignore[attr-defined]
