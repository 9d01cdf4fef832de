"""A source with several right targets counts once."""

import zoo
from zoo.data import DatasetInfo, Parts
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
