"""A source with several right targets counts once."""

from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.data import DatasetInfo, Parts
from zoo.data.corpus import open_corpus
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair
from zoo.plugins.text.data.seq2seq.references import ReferencesCorpus


def test_a_source_counts_once_with_all_its_targets() -> None:
    test = [Pair("one", "1"), Pair("one", "I"), Pair("two", "2")]
    parts = Parts([Pair("three", "3")], [Pair("four", "4")], test)
    spec = zoo.info("transformer-tiny")
    corpus = ReferencesCorpus(DatasetInfo("made", "Made.", "0"), spec, Tokenizer.byte_level(), parts)
    assert corpus.references == {"four": ["4"], "one": ["1", "I"], "two": ["2"]}
    written = [GeneratedPair(pair, text, "") for pair, text in zip(test, "112", strict=True)]
    assert sorted((each.pair.source, each.text) for each in corpus.each_once(written)) == [("one", "1"), ("two", "2")]


def test_each_source_is_written_once_with_all_its_targets_as_squad_compares_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        f"question {n}?\tcontext {n}\t{answer}\n" for n in range(9) for answer in ("The Rhine!", "a River", "rhine")
    ]
    (tmp_path / "train.tsv").write_text("".join(rows))
    corpus: Any = open_corpus(f"questions:{tmp_path}/train.tsv", zoo.info("transformer-tiny"), 0, "byte")
    said = ((place, "Rhine.") for place in range(corpus.sizes["test"]))
    monkeypatch.setattr(type(corpus), "_generated", lambda *_: said)
    found = list(corpus.written(None, "test", 4))
    assert len(found) == len({pair.source for pair in corpus.parts["test"]}) < corpus.sizes["test"]
    assert {(each.text, each.wanted) for each in found} == {("rhine", ("rhine", "river"))}
