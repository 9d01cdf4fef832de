import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo import ConfigError, DataError
from zoo.core import IGNORED
from zoo.data.corpus import open_corpus
from zoo.plugins.text.data import text_stream, text_table
from zoo.plugins.text.data.labelled_corpus import LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import LinesCorpus, MaskedCorpus
from zoo.plugins.text.data.parallel_corpus import ParallelCorpus

ENCODER, DECODER, TRANSLATOR = (zoo.info(name) for name in ("bert-tiny", "decoder-tiny", "transformer-tiny"))
TEXTS = [f"text number {number}" for number in range(60)]
LABELS = ["even" if number % 2 == 0 else "odd" for number in range(60)]


@pytest.fixture
def labelled(parquet: Any) -> str:
    return f"parquet:{parquet('a.parquet', text=TEXTS, label=LABELS)}"


def test_a_model_reads_the_columns_that_it_can(labelled: str) -> None:
    assert isinstance(open_corpus(labelled, ENCODER, tokenizer="byte"), LabelledCorpus)
    assert isinstance(open_corpus(labelled, DECODER, tokenizer="byte"), LinesCorpus)
    assert isinstance(open_corpus(f"{labelled}?label=", ENCODER, tokenizer="byte"), MaskedCorpus)
    masked = ENCODER.with_config(task="masked-token")
    assert isinstance(open_corpus(labelled, masked, tokenizer="byte"), MaskedCorpus)
    with pytest.raises(DataError, match=r"which one is source \(text\) is not clear: write \?source=COLUMN"):
        open_corpus(labelled, TRANSLATOR)


def test_texts_have_their_labels(labelled: str) -> None:
    corpus = open_corpus(labelled, ENCODER, tokenizer="byte")
    assert isinstance(corpus, LabelledCorpus)
    assert corpus.labels == ["even", "odd"]
    found = {}
    for split in ("train", "validation", "test"):
        for place in range(len(corpus.rows[split])):
            row = corpus.rows[split][place]
            text = corpus.tokenizer.transcripts([list(row)])[0]
            found[text] = corpus.labels[int(corpus.classes[split][place])]
    assert found == dict(zip(TEXTS, LABELS, strict=True))


@pytest.mark.parametrize("kind", ["hf", "csv", "jsonl"])
def test_every_source_of_tables_gives_the_same_texts(kind: str, tmp_path: Path, parquet: Any, labelled: str) -> None:
    parquet("hub/train.parquet", text=TEXTS, label=LABELS)
    rows = zip(TEXTS, LABELS, strict=True)
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    rows = zip(TEXTS, LABELS, strict=True)
    lines = (json.dumps({"text": text, "label": label}) for text, label in rows)
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    path = tmp_path / {"hf": "hub", "csv": "a.csv", "jsonl": "a.jsonl"}[kind]
    one, other = (open_corpus(data, ENCODER, tokenizer="byte") for data in (labelled, f"{kind}:{path}"))
    assert one.sizes == other.sizes
    for a, b in zip(one.held_out("test", 4), other.held_out("test", 4), strict=True):
        assert torch.equal(a.inputs[0], b.inputs[0])
        assert torch.equal(a.target, b.target)


def test_words_have_tags_whose_names_each_part_orders_in_its_way(parquet: Any, tmp_path: Path) -> None:
    import datasets

    for part, names in (("train", ["O", "B"]), ("test", ["B", "O"])):
        tags = datasets.List(datasets.ClassLabel(names=names))
        features = {"tokens": datasets.List(datasets.Value("string")), "ner_tags": tags}
        words = [[f"a{number}", "name"] for number in range(20)]
        parquet(f"{part}.parquet", features, tokens=words, ner_tags=[[names.index("O"), names.index("B")]] * 20)
    corpus = open_corpus(f"parquet:{tmp_path}/*.parquet", ENCODER, tokenizer="word")
    assert isinstance(corpus, TaggedCorpus)
    assert corpus.labels == ["B", "O"]
    for batch in corpus.held_out("test", 4):
        for row in batch.target:
            assert row[row != IGNORED].tolist() == [1, 0]


def test_pairs_are_columns_or_entries_of_a_translation(parquet: Any) -> None:
    pairs = [{"en": f"one {number}", "de": f"eins {number}"} for number in range(30)]
    path = parquet("a.parquet", translation=pairs)
    corpus = open_corpus(f"parquet:{path}?target=translation.de&units=char", TRANSLATOR, tokenizer="byte")
    assert isinstance(corpus, ParallelCorpus)
    assert corpus.sizes["train"] > 20
    alone = open_corpus(f"parquet:{path}?source=translation.en&target=translation.de", DECODER, tokenizer="byte")
    assert isinstance(alone, ParallelCorpus)


def test_large_tables_are_streamed_to_the_same_ids(
    parquet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, texts in (("train", TEXTS[:40]), ("val", TEXTS[40:50]), ("test", TEXTS[50:])):
        parquet(f"data/{part}.parquet", text=texts, label=LABELS[: len(texts)])
    data = f"parquet:{tmp_path}/data/*.parquet"
    for model, option in ((ENCODER, ""), (DECODER, "?pack=no")):
        held = open_corpus(data, model, tokenizer="byte")
        monkeypatch.setattr(text_table, "LARGE", 0)
        streamed = open_corpus(data + option, model, tokenizer="byte")
        monkeypatch.undo()
        monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
        assert streamed.sizes == held.sizes == {"train": 40, "validation": 10, "test": 10}
        for a, b in zip(held.held_out("test", 4), streamed.held_out("test", 4), strict=True):
            assert torch.equal(a.inputs[0], b.inputs[0])
            assert torch.equal(a.target, b.target)


def _texts(corpus: Any, split: str) -> list[str]:
    rows = corpus.rows[split]
    return corpus.tokenizer.transcripts([list(rows[place]) for place in range(len(rows))])


@pytest.mark.parametrize("model", [ENCODER, DECODER])
def test_a_table_that_grows_large_keeps_its_parts(
    parquet: Any, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = f"parquet:{parquet('few.parquet', text=TEXTS[:50], label=LABELS[:50])}"
    more = f"parquet:{parquet('more.parquet', text=TEXTS, label=LABELS)}?pack=no"
    more = more if model is DECODER else more.partition("?")[0]
    before = open_corpus(few, model, tokenizer="byte")
    monkeypatch.setattr(text_table, "LARGE", 0)
    grown = open_corpus(more, model, tokenizer="byte")
    for split in ("train", "validation", "test"):
        old = _texts(before, split)
        assert old
        assert [text for text in _texts(grown, split) if text in TEXTS[:50]] == old


@pytest.mark.parametrize("large", [False, True])
def test_of_many_texts_that_are_held_out_those_of_the_lowest_hashes_are_read(
    large: bool, labelled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = open_corpus(labelled, ENCODER, tokenizer="byte")
    monkeypatch.setattr(text_stream, "MOST", 2)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "other"))
    if large:
        monkeypatch.setattr(text_table, "LARGE", 0)
    few = open_corpus(labelled, ENCODER, tokenizer="byte")
    assert _texts(few, "train") == _texts(whole, "train")
    assert len(_texts(few, "test")) == 2 < len(_texts(whole, "test"))
    assert set(_texts(few, "test")) < set(_texts(whole, "test"))


def test_a_large_table_without_the_labels_of_its_test_is_streamed(
    parquet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet("data/train.parquet", text=TEXTS, label=LABELS)
    parquet("data/test.parquet", text=TEXTS[:5], label=[None] * 5)
    monkeypatch.setattr(text_table, "LARGE", 0)
    with pytest.warns(UserWarning, match="the labels of its test are kept back"):
        corpus = open_corpus(f"parquet:{tmp_path}/data/*.parquet", ENCODER, tokenizer="byte")
    assert sum(corpus.sizes.values()) == 60


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ({"text": ["a", None, "b"], "label": ["x", "y", "x"]}, "", r"column 'text' is empty in 1 row, such as 1"),
        ({"text": ["a", "b"], "label": [0.5, 1.5]}, "label=label", r"'label' holds number, and label is class or"),
        ({"text": ["a", "b"], "label": [["x"], ["y"]]}, "label=label", r"'label' holds list of text, and label is"),
        (
            {"tokens": [["a"], ["b", "c"], ["d"]], "tags": [["x"], ["y"], ["x"]]},
            "",
            r"row 1: 2 tokens and 1 tags: each token has one",
        ),
        ({"words": [1, 2]}, "", r"has columns words \(integer\), and which one is text"),
        ({"text": ["a", "b"]}, "text=b", r"has no column 'b' for text; it has text \(text\)"),
    ],
)
def test_columns_that_do_not_fit_are_named(parquet: Any, columns: Any, options: str, error: str) -> None:
    path = parquet("a.parquet", **columns)
    with pytest.raises(DataError, match=error):
        open_corpus(f"parquet:{path}?{options}", ENCODER, tokenizer="byte")


def test_an_empty_side_of_a_pair_is_an_error(parquet: Any) -> None:
    path = parquet("a.parquet", source=["a", "b", "d"], target=["c", " ", "c"])
    with pytest.raises(DataError, match=r"a\.parquet row 1: the target is empty"):
        open_corpus(f"parquet:{path}", TRANSLATOR, tokenizer="byte")


def test_a_model_without_texts_to_read_is_refused(labelled: str) -> None:
    with pytest.raises(ConfigError, match="reads none"):
        open_corpus(labelled, replace(ENCODER, reads=""))
