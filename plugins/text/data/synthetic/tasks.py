"""Synthetic tasks, reproducible by seed: the sources `reverse`, `numbers:en`, `parse`, ….

Thousands of examples, nothing downloaded; what is tested was never trained on.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, fingerprint, names_of
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.number_words import LANGUAGES, LARGEST
from zoo.plugins.text.data.file_readers import Sentence
from zoo.plugins.text.data.label_set_files import LabelSet
from zoo.plugins.text.data.labelled_corpus import TaggedCorpus
from zoo.plugins.text.data.multi_label_corpus import MultiLabelCorpus
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus
from zoo.plugins.text.data.synthetic.grammar import Tree, draw_sentences
from zoo.plugins.text.data.synthetic.string_tasks import StringsCorpus, draw_pairs, lengths_of

Example = TypeVar("Example")

SIZES = (10_000, 500, 1000)
"""Sentences of training, validation and test."""
NUMBERS = (20_000, 500, 2000)
_TIMES = {1: 100, 2: 20, 3: 4}
"""Digits of a number to how often it is in the training; else a model hardly meets the short ones, 1% of all."""
_HELD_OUT = 100
"""From here on numbers are held out: the words of smaller ones are the language's own."""
_WORDS = "bpe:1000"
"""Enough for each word of the grammar to be one token."""


def open_reverse(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> StringsCorpus:
    """Open strings to be written backwards; the argument, `MIN-MAX`, gives the lengths in training."""
    return _strings("reverse", "to be written backwards", lambda text: text[::-1], argument, spec, seed, tokenizer)


def open_copy(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> StringsCorpus:
    """Open strings to be written again; the argument, `MIN-MAX`, gives the lengths in training."""
    return _strings("copy", "to be written again", lambda text: text, argument, spec, seed, tokenizer)


def open_numbers(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    """Open numbers in digits and in the words of a language.

    Those below 100 are all trained on, those below 1,000 unless they are held out.

    Raises:
        DataError: If the language is not one of those there are.
    """
    if argument not in LANGUAGES:
        raise DataError(f"'numbers:{argument}': languages are {', '.join(LANGUAGES)}")
    numbers = list(range(_HELD_OUT, LARGEST + 1))
    random.Random(seed).shuffle(numbers)
    held = sum(NUMBERS[1:])
    rest = sorted([*range(1, _HELD_OUT), *numbers[held:]], key=lambda number: number >= 1000)
    often = [number for number in rest for _ in range(_TIMES.get(len(str(number)), 1))]
    write = LANGUAGES[argument]
    drawn = (numbers[:held] + often)[: sum(NUMBERS)]
    parts = in_parts([Pair(str(number), write(number)) for number in drawn], NUMBERS)
    chosen = choose_tokenizer(tokenizer, "bpe:400", [pair.target for pair in parts.train])
    units = "char" if argument == "de" else "13a"  # a German number is one word, and BLEU counts four in a row
    described = about(f"numbers:{argument}", f"numbers of 1 to {LARGEST:,} in words", parts, chosen.content)
    return ParallelCorpus(described, spec, chosen, parts, metric="BLEU", units=units)


def open_parse(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    """Open sentences of the grammar with their trees in brackets."""
    parts = in_parts([Pair(tree.text(), tree.brackets()) for tree in _trees(seed)], SIZES, seed)
    return _pairs("parse", "English sentences with their trees in brackets", parts, spec, tokenizer)


def open_topics(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus | MultiLabelCorpus:
    """Open texts of one to three sentences with the set of their topics.

    A model that writes tells them in alphabetical order; for an encoder they are labels, of which it gives any number.
    """
    rng = random.Random(seed)
    trees = draw_sentences(2 * sum(SIZES), seed)
    about_something = (tree for tree in trees if tree.topics())
    pairs = []
    for tree in about_something:
        together = [tree, *(next(about_something, tree) for _ in range(rng.choice((0, 0, 1, 2))))]
        topics = sorted({topic for each in together for topic in each.topics()})
        pairs.append(Pair(". ".join(each.text() for each in together), " ".join(topics)))
    parts = in_parts(pairs[: sum(SIZES)], SIZES, seed)
    if spec.reads == "encoder":
        return _topic_labels(parts, spec, tokenizer)
    return _pairs("topics", "English texts with the set of their topics", parts, spec, tokenizer)


def _topic_labels(parts: Parts[Pair], spec: ModelSpec, tokenizer: str) -> MultiLabelCorpus:
    """Serve the topics of texts as labels."""
    sets = {
        name: [LabelSet(each.source, tuple(each.target.split()), (), "a drawn text") for each in part]
        for name, part in parts.by_name().items()
    }
    found = Parts(**sets)
    chosen = choose_tokenizer(tokenizer, _WORDS, [each.text for each in found.train])
    labels = names_of((label for each in found.train for label in each.labels), "topics")
    return MultiLabelCorpus(
        about("topics", "English texts with the set of their topics", found, chosen.content),
        spec,
        chosen,
        found,
        labels,
    )


def open_tags(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open sentences of the grammar with the part of speech of each word."""
    leaves = [tree.leaves for tree in _trees(seed)]
    sentences = [
        Sentence(tuple(leaf.word for leaf in each), tuple(leaf.tag for leaf in each), f"sentence {number}")
        for number, each in enumerate(leaves)
    ]
    parts = in_parts(sentences, SIZES)  # sentences of all lengths come again and again: the order tells little
    chosen = choose_tokenizer(tokenizer, _WORDS, [" ".join(each.words) for each in parts.train])
    described = about("tags", "English sentences with parts of speech", parts, chosen.content)
    labels = names_of((tag for part in parts for each in part for tag in each.tags), "tags")
    return TaggedCorpus(described, spec, chosen, parts, labels)


def _strings(
    name: str, what: str, change: Callable[[str], str], argument: str, spec: ModelSpec, seed: int, tokenizer: str
) -> StringsCorpus:
    low, high = lengths_of(argument, name)
    parts = draw_pairs((low, high), change, seed)
    if not all(parts):
        raise DataError(f"'{name}:{argument}': too few different strings for training, validation and test")
    chosen = choose_tokenizer(tokenizer, "byte", [pair.source for pair in parts.train])
    what = f"strings of {low} to {high} letters {what}; in the test up to {2 * high}"
    described = about(f"{name}:{low}-{high}", what, parts, chosen.content)
    return StringsCorpus(described, spec, chosen, parts, high)


def _pairs(name: str, what: str, parts: Parts[Pair], spec: ModelSpec, tokenizer: str) -> ParallelCorpus:
    chosen = choose_tokenizer(tokenizer, _WORDS, [text for pair in parts.train for text in pair[:2]])
    described = about(name, what, parts, chosen.content)
    return ParallelCorpus(described, spec, chosen, parts, metric="exact match")


def _trees(seed: int) -> list[Tree]:
    return draw_sentences(sum(SIZES), seed)


def in_parts(examples: Sequence[Example], sizes: tuple[int, int, int], seed: int | None = None) -> Parts[Example]:
    """Cut examples into parts; the held-out ones come first.

    Args:
        examples: all of them.
        sizes: of training, validation and test.
        seed: of an order in which they are cut; None for the order that they have. Examples of which no two are alike
            get longer the later they were drawn, since the short ones are soon used up.
    """
    if seed is not None:
        examples = random.Random(f"parts {seed}").sample(examples, len(examples))
    train, validation, test = sizes
    held = validation + test
    return Parts(examples[held : held + train], examples[:validation], examples[validation:held])


def about(name: str, what: str, parts: Parts[Any], vocabulary: str) -> DatasetInfo:
    """Describe texts that rules made."""
    counts = f"{len(parts.train):,} {what}, made by rules, and {len(parts.test):,} others for the test"
    texts = (repr(tuple(example)[:2]) for part in parts for example in part)
    return DatasetInfo(name, f"`{name}` are {counts}.", fingerprint([*texts, vocabulary]))
