"""Vocabularies that hold the characters, or the words, of some texts."""

from pathlib import Path

import pytest

from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Tokenizer

TEXTS = ["ab a", "né  b"]


def test_characters_are_listed_behind_the_symbols() -> None:
    tokenizer = choose_tokenizer("char", "byte", TEXTS)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk) == (0, 1, 2, 3)
    assert tokenizer.vocab_size == 4 + len(" abné")
    assert tokenizer.rows(["a b"]) == [[5, 4, 6]]
    assert tokenizer.rows(["azb"]) == [[5, 3, 6]]


def test_words_are_listed_behind_the_symbols() -> None:
    tokenizer = choose_tokenizer("", "word", TEXTS)
    assert tokenizer.vocab_size == 4 + len({"ab", "a", "né", "b"})
    assert tokenizer.rows(["a ab zz"]) == [[4, 5, 3]]


@pytest.mark.parametrize("kind", ["char", "word"])
def test_texts_come_back(kind: str, tmp_path: Path) -> None:
    tokenizer = choose_tokenizer(kind, "byte", TEXTS)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.decode(loaded.rows(["né ab"])[0]) == "né ab"
    assert loaded.content == tokenizer.content


def test_what_looks_like_a_symbol_is_none() -> None:
    tokenizer = choose_tokenizer("char", "byte", ["a </s> b"])
    assert tokenizer.decode(tokenizer.rows(["</s>"])[0]) == "</s>"
