"""Units by words are those of the library, whatever white space, digits and quotes are between."""

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, trainers

from zoo.plugins.shared.text import vocabulary, word_ids
from zoo.plugins.shared.text.word_ids import WordIds, encodes_by_words

SPACES = " \t\n\r\x0b\x1c\x1f\x85\xa0\u2003\u3000\u200b"
LEARNED = [f"it's a{space}{space} dog, they'll 12{space}34 !!{space}?  größer" for space in SPACES]
LEARNED += [f"!{space}" for space in SPACES]
MANY = st.lists(st.text(st.sampled_from(f"{SPACES}     ab's.!!12é語½\u0301"), max_size=20), min_size=1, max_size=6)


def learn(*before: pre_tokenizers.PreTokenizer, prefix: bool = False, regex: bool = True) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE())
    last = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*before, last]) if before else last
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        LEARNED * 3, trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    )
    return backend


GPT2, DIGITS = learn(), vocabulary.byte_pairs(LEARNED * 3, 700)


def rows(words: WordIds, texts: list[str]) -> list[list[int]]:
    flat, lengths = words(texts)
    ends = lengths.cumsum()
    return [flat[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]


@settings(deadline=None, max_examples=200)
@given(MANY)
def test_units_are_those_of_the_library(texts: list[str]) -> None:
    for backend in (GPT2, DIGITS):
        words = WordIds(backend)
        wanted = [found.ids for found in backend.encode_batch(texts, add_special_tokens=False)]
        assert rows(words, texts) == wanted
        assert rows(words, texts[::-1]) == wanted[::-1]  # all of it is remembered


@pytest.mark.parametrize("text", ["!\x1c b", "a !\x1c", "!\x1f\x1c a!", "1  2", "a \t 1 b", "", " ", "a\n\nb  "])
def test_white_space_that_only_python_knows_is_no_place_to_cut(text: str) -> None:
    for backend in (GPT2, DIGITS):
        assert rows(WordIds(backend), [text]) == [backend.encode(text, add_special_tokens=False).ids]


def test_words_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_ids, "_MOST", 20)
    words = WordIds(DIGITS)
    for number in range(30):
        text = f"a dog and {number} more"
        assert rows(words, [text]) == [DIGITS.encode(text).ids]
        assert len(words._known.flat) < 60


def test_other_ways_to_cut_are_left_to_the_library() -> None:
    assert encodes_by_words(GPT2)
    assert encodes_by_words(DIGITS)
    assert encodes_by_words(tokenizers.Tokenizer.from_str(GPT2.to_str()))
    assert not encodes_by_words(vocabulary.byte_level())
    assert not encodes_by_words(vocabulary.word_pieces(LEARNED, 300))
    assert not encodes_by_words(learn(prefix=True))
    assert not encodes_by_words(learn(regex=False))
    assert not encodes_by_words(learn(pre_tokenizers.Digits(individual_digits=False)))
    assert not encodes_by_words(learn(pre_tokenizers.Punctuation()))


def test_a_normalizer_chance_or_a_token_of_several_words_is_left_to_the_library() -> None:
    changed = [tokenizers.Tokenizer.from_str(GPT2.to_str()) for _ in range(3)]
    changed[0].normalizer = normalizers.Replace("a b", "c")
    changed[1].add_tokens(["a dog"])
    model = changed[2].model
    model.dropout = 0.5
    changed[2].model = model
    assert not any(map(encodes_by_words, changed))
