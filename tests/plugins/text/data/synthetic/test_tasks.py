from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from scipy.stats import ks_2samp
from torch import Tensor, nn

from zoo.errors import DataError
from zoo.plugins.shared.text.number_words import english, german
from zoo.plugins.text.data.parallel_corpus import ParallelCorpus
from zoo.plugins.text.data.synthetic import tasks
from zoo.plugins.text.data.synthetic.grammar import Tree, draw_sentences
from zoo.plugins.text.data.synthetic.string_tasks import StringsCorpus, draw_pairs, lengths_of
from zoo.plugins.text.data.synthetic.tasks import (
    open_copy,
    open_numbers,
    open_parse,
    open_reverse,
    open_tags,
    open_topics,
)
from zoo.plugins.text.sources import SOURCES
from zoo.registry import entry_loading
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, Reads

SIZES = (300, 40, 60)


def spec(form: Reads) -> ModelSpec:
    return ModelSpec(
        name="made",
        entry="m:a",
        modality="text",
        example="m:e",
        task="classify" if form == "encoder" else "generate",
        preprocess=f"zoo.plugins.text.io.entries:{form}",
        reads=form,
    )


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Make few examples: every call is checked here, which takes time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "SIZES", SIZES)
        patch.setattr(tasks, "NUMBERS", (8000, 500, 200))
        yield


@pytest.fixture(scope="module")
def parse() -> ParallelCorpus:
    return open_parse("", spec("source"), 0, "byte")


@pytest.fixture(scope="module")
def topics() -> ParallelCorpus:
    found = open_topics("", spec("source"), 0, "byte")
    assert isinstance(found, ParallelCorpus)
    return found


@pytest.fixture(scope="module")
def numbers() -> ParallelCorpus:
    return open_numbers("de", spec("source"), 0, "byte")


def disjoint(corpus: ParallelCorpus) -> bool:
    parts = [{pair.source for pair in pairs} for pairs in corpus.parts.values()]
    return sum(map(len, parts)) == len(set.union(*parts))


def test_every_source_has_a_name_of_its_own_and_opens_by_its_entry() -> None:
    named = [source.name for source in registry().sources]
    for source in SOURCES:
        assert named.count(source.name) == 1
        assert callable(entry_loading.load(source, source.corpus))


@pytest.mark.parametrize(("open_task", "form"), [(open_parse, "source"), (open_topics, "source")])
def test_parts_of_drawn_texts_have_as_many_short_ones(
    open_task: Callable[..., Any], form: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def growing(count: int, seed: int) -> list[Tree]:
        """Draw sentences as if the short ones were soon used up."""
        return sorted(draw_sentences(count, seed), key=lambda tree: len(tree.leaves))

    monkeypatch.setattr(tasks, "draw_sentences", growing)
    corpus = open_task("", spec(form), 0, "byte")
    train, *held = (corpus.lengths[part].tolist() for part in ("train", "validation", "test"))
    assert ks_2samp(train, held[0] + held[1]).statistic < 0.25  # else 1


def test_strings_are_written_backwards_or_again() -> None:
    backwards, again = (opened("2-4", spec("source"), 0, "") for opened in (open_reverse, open_copy))
    assert all(pair.target == pair.source[::-1] for pairs in backwards.parts.values() for pair in pairs)
    assert all(pair.target == pair.source for pairs in again.parts.values() for pair in pairs)
    assert disjoint(backwards)
    assert backwards.tokenizer.vocab_size == 260
    assert {len(pair.source) for pair in backwards.parts["train"]} == {2, 3, 4}
    assert {len(pair.source) for pair in backwards.parts["validation"]} == {2, 3, 4}
    assert {len(pair.source) for pair in backwards.parts["test"]} == {2, 3, 4, 5, 6, 7, 8}


def test_a_seed_draws_the_same_strings_and_another_others() -> None:
    assert draw_pairs((3, 4), str.lower, 0) == draw_pairs((3, 4), str.lower, 0)
    assert draw_pairs((3, 4), str.lower, 0) != draw_pairs((3, 4), str.lower, 1)


@pytest.mark.parametrize("argument", ["3", "5-4", "0-3", "a-b", "3-9999", "-3"])
def test_lengths_that_are_none(argument: str) -> None:
    with pytest.raises(DataError, match=f"'copy:{argument}': lengths are MIN-MAX, such as 3-12, from 1 to 512"):
        lengths_of(argument, "copy")


class Short(nn.Module):
    """Copy a source, but no more of it than some letters."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def training_loss(self, inputs: Any, target: Tensor, smoothing: float) -> float:
        """Say that teacher forcing is not for this model."""
        return 2.0

    def generate(self, ids: Tensor, valid: Tensor, max_len: int) -> Any:
        self.written = [row[: length - 1].tolist()[: self.most] for row, length in zip(ids, valid, strict=True)]
        return self

    def best(self) -> list[list[int]]:
        return self.written


def test_strings_are_scored_by_length_and_the_metric_counts_the_lengths_of_training() -> None:
    corpus = open_copy("2-4", spec("source"), 0, "")
    assert isinstance(corpus, StringsCorpus)
    scores = corpus.score(Short(6), "test", 64)
    assert next(iter(scores)) == corpus.metric == "exact match"
    assert scores["exact match"] == 1
    longer = [len(pair.source) for pair in corpus.parts["test"] if len(pair.source) > 4]
    assert scores["exact match, longer"] == pytest.approx(sum(length <= 6 for length in longer) / len(longer))
    assert [scores[f"exact match, length {length}"] for length in range(2, 9)] == [1, 1, 1, 1, 1, 0, 0]
    assert scores["loss"] == 2.0
    names = [name for name in corpus.score(Short(6), "validation", 64) if ", length" not in name]
    assert tuple(names) == corpus.metrics(Short(6)) == ("exact match", "loss")


def test_numbers_are_written_in_words_and_no_tested_one_is_trained(numbers: ParallelCorpus) -> None:
    assert numbers.sizes == {"train": 8000, "validation": 500, "test": 200}
    assert disjoint(numbers)
    assert all(pair.target == german(int(pair.source)) for pair in numbers.parts["test"])
    held = {int(pair.source) for split in ("validation", "test") for pair in numbers.parts[split]}
    small = {int(pair.source) for pair in numbers.parts["train"] if int(pair.source) < 1000}
    assert small == set(range(1, 1000)) - held
    assert numbers.metric == "BLEU"
    assert english(7) != german(7)


def test_short_numbers_are_trained_on_often(numbers: ParallelCorpus) -> None:
    counts = Counter(pair.source for pair in numbers.parts["train"])
    times = {digits: {count for source, count in counts.items() if len(source) == digits} for digits in range(1, 6)}
    assert times == {1: {100}, 2: {20}, 3: {4}, 4: {1}, 5: {1}}
    assert {str(number) for number in range(1, 100)} <= counts.keys()


def test_bleu_of_german_numbers_counts_letters_since_each_is_one_word(numbers: ParallelCorpus) -> None:
    written = numbers.write(Short(0), "validation", 500)
    right = [each._replace(text=each.wanted) for each in written]
    assert numbers.metrics_of(right)["BLEU"] == pytest.approx(100)
    near = [each._replace(text=each.wanted[:-1]) for each in written]
    assert 80 < numbers.metrics_of(near)["BLEU"] < 100


def test_a_language_that_is_not_there() -> None:
    with pytest.raises(DataError, match="'numbers:xx': languages are en, de"):
        open_numbers("xx", spec("source"), 0, "")


def test_trees_hold_the_words_of_their_sentence(parse: ParallelCorpus) -> None:
    assert parse.sizes == dict(zip(("train", "validation", "test"), SIZES, strict=True))
    assert disjoint(parse)
    for pair in parse.parts["test"]:
        words = [word.rstrip(")") for word in pair.target.split() if not word.startswith("(")]
        assert words == pair.source.split()


def test_topics_come_in_alphabetical_order_each_once(topics: ParallelCorpus) -> None:
    assert topics.sizes == dict(zip(("train", "validation", "test"), SIZES, strict=True))
    assert disjoint(topics)
    for pair in topics.parts["test"]:
        labels = pair.target.split()
        assert labels == sorted(set(labels)) != []
    counts = {len(pair.target.split()) for pair in topics.parts["train"]}
    assert counts >= {1, 2, 3}


def test_tags_are_parts_of_speech_of_each_word() -> None:
    corpus = open_tags("", spec("encoder"), 0, "byte")
    assert corpus.labels == ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "PRON", "VERB"]
    (ids, lengths), target = corpus.batch(torch.arange(50), torch.Generator())
    for row, length, asked in zip(ids, lengths, target, strict=True):
        words = corpus.tokenizer.decode(row[:length]).split()
        tags = [corpus.labels[number] for number in asked[asked != -100]]
        assert len(words) == len(tags)
        assert all(tag == "AUX" for word, tag in zip(words, tags, strict=True) if word in ("is", "are"))
