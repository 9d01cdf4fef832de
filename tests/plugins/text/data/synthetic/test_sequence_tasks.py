from dataclasses import replace

import pytest

import zoo
from zoo.core import IGNORED
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.text.data.labelled_corpus import LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.synthetic import sequence_tasks

SPEC = zoo.info("bert-micro")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence_tasks, "SIZES", (60, 10, 20))
    monkeypatch.setattr(sequence_tasks, "ARENA_SIZES", (6, 2, 3))


@pytest.mark.parametrize(
    ("source", "length", "asked"),
    [("mqar:2,16", 16, 2), ("selective-copy:3,12", 12, 3), ("induction:8", 8, 1), ("mqar", 128, 16)],
)
def test_only_the_places_that_ask_have_a_label(source: str, length: int, asked: int) -> None:
    corpus = open_corpus(source, SPEC)
    assert isinstance(corpus, TaggedCorpus)
    batch = next(iter(corpus.held_out("test", 20)))
    ids, lengths = batch.inputs
    assert set((lengths - lengths.min()).tolist()) == {0}
    assert (batch.target != IGNORED).sum(1).tolist() == [asked] * 20
    assert ids.shape[1] - length <= 2  # the frame
    assert len(corpus.lengths["train"]) == 60


def test_lists_of_digits_have_their_value_as_label() -> None:
    corpus = open_corpus("listops", SPEC)
    assert isinstance(corpus, LabelledCorpus)
    assert corpus.labels == list("0123456789")
    texts = [corpus.tokenizer.decode(corpus.rows["test"][place]) for place in range(20)]
    assert all(text.startswith("[") for text in texts)
    with pytest.raises(DataError, match="more than the model's max_len=256"):
        open_corpus("listops:lra", SPEC)
    arena = open_corpus("listops:lra", replace(SPEC, config={**SPEC.config, "max_len": 2048}))
    assert isinstance(arena, LabelledCorpus)
    assert len(arena.lengths["test"]) == 3


@pytest.mark.parametrize(
    "source", ["mqar:4", "mqar:a,b", "induction:2", "selective-copy:9,10", "listops:long", "pathfinder:8"]
)
def test_sizes_that_do_not_fit_are_repeated_in_the_error(source: str) -> None:
    with pytest.raises(DataError, match=f"'{source}'"):
        open_corpus(source, SPEC)
