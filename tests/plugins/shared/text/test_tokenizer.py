import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from zoo.core.special_tokens import Symbols
from zoo.errors import ConfigError, InputError
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, check_text

TEXTS = ["the dog sleeps in the garden", "the cat sees the dog", "größer als 12345, naïve"] * 5
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
BYTES = Tokenizer.byte_level()
PAIRS = Tokenizer.train(TEXTS, vocab_size=320)
PIECES = Tokenizer.train(TEXTS, "wordpiece", 80)


def words(*tokens: str) -> Tokenizer:
    """Make a tokenizer of these tokens, parted by white space."""
    backend = tokenizers.Tokenizer(models.WordLevel({token: place for place, token in enumerate(tokens)}, tokens[0]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Tokenizer(backend)


def test_bytes_are_tokens_behind_four_symbols() -> None:
    ids, lengths = BYTES.encode(["aé"], bos=True, eos=True)
    assert ids.tolist() == [[1, 4 + 0x61, 4 + 0xC3, 4 + 0xA9, 2]]
    assert lengths.tolist() == [5]
    assert (BYTES.vocab_size, BYTES.pad, BYTES.bos, BYTES.eos, BYTES.unk) == (260, *Symbols(), 3)


@settings(deadline=None)
@given(TEXT)
def test_every_text_comes_back_from_bytes_and_byte_pairs(text: str) -> None:
    for tokenizer in (BYTES, PAIRS):
        ids = tokenizer.encode([text], bos=True, eos=True)[0][0]
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("text", ["</s>", "a<s>b<pad>", "<|endoftext|> <0x41>"])
def test_a_symbol_in_a_text_is_text(text: str) -> None:
    for tokenizer in (BYTES, PAIRS):
        (row,) = tokenizer.rows([text])
        assert not set(row) & tokenizer.symbols
        assert tokenizer.decode(row) == text


def listed(tokenizer: Tokenizer, texts: list[str], frame: Frame) -> list[list[int]]:
    rows = tokenizer.ragged(texts, frame)
    return [rows[place] for place in range(len(rows))]


@settings(deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_rows_in_one_array_are_those_of_the_library_whatever_reads_them(texts: list[str]) -> None:
    texts = [*texts, "<0x41></s>", "a<mask>", "größer"]  # bytes are read without the library, unless there is a mask
    for tokenizer in (BYTES, PAIRS, PIECES, BYTES.with_mask(), BYTES.with_frame(Frame((1,)))):
        wanted = [encoding.ids for encoding in tokenizer._encodings(texts)]
        assert listed(tokenizer, texts, Frame()) == wanted
        assert listed(tokenizer, texts, Frame((1, 2), (0,))) == [[1, 2, *row, 0] for row in wanted]


def test_what_is_sent_to_another_process_still_reads_symbols_as_text() -> None:
    for tokenizer in (PAIRS, PIECES):
        wanted = listed(tokenizer, ["a</s>b [CLS]"], Frame())
        assert listed(pickle.loads(pickle.dumps(tokenizer)), ["a</s>b [CLS]"], Frame()) == wanted


def test_ids_have_the_bits_that_the_vocabulary_needs() -> None:
    assert PAIRS.ragged(["a"]).flat.dtype == BYTES.ragged(["é"]).flat.dtype == np.uint16
    many = words(*(f"w{number}" if number else "</s>" for number in range(2**16 + 1)))
    rows = many.ragged(["w1 w65536"])
    assert rows.flat.dtype == np.uint32
    assert rows[0] == [1, 65536]


def test_half_a_character_is_refused_in_rows_too() -> None:
    for tokenizer in (BYTES, PAIRS):
        with pytest.raises(InputError, match="is no Unicode text"):
            tokenizer.ragged(["a", "\ud800"])


def test_a_mask_in_a_text_is_a_mask() -> None:
    masked, plain = PIECES.rows(["the [MASK] [CLS]", "the [CLS]"])
    assert PIECES.mask in masked
    assert PIECES.bos not in plain


def test_a_vocabulary_without_a_mask_gets_one_token_more() -> None:
    masked = BYTES.with_mask()
    assert (BYTES.mask, masked.mask, masked.vocab_size) == (None, 260, 261)
    assert masked.rows(["a<mask>"]) == [[101, 260]]
    assert masked.rows(["a</s>"]) == BYTES.rows(["a</s>"])
    assert PIECES.with_mask() is PIECES


def test_learned_vocabularies_have_the_usual_symbols_and_at_most_the_size_asked_for() -> None:
    assert [PAIRS.backend.token_to_id(token) for token in ("<pad>", "<s>", "</s>", "<unk>")] == [0, 1, 2, 3]
    assert [PIECES.pad, PIECES.bos, PIECES.eos, PIECES.unk, PIECES.mask] == [0, 1, 2, 3, 4]
    assert PAIRS.vocab_size <= 320
    assert PIECES.vocab_size <= 80


def test_learning_makes_texts_shorter_than_bytes_and_leaves_digits_apart() -> None:
    text = "the dog sees the cat"
    assert len(PAIRS.rows([text])[0]) < len(text) / 2
    assert len(PAIRS.rows(["12345"])[0]) == 5


def test_pieces_stand_between_begin_and_end_by_their_own_template() -> None:
    assert PIECES.frame == Frame((1,), (2,))
    assert PAIRS.frame == Frame()
    assert PIECES.decode(PIECES.rows(["the dog sees the cat"], PIECES.frame)[0]) == "the dog sees the cat"


def test_padding_on_the_right_gives_lengths_on_the_left_a_mask() -> None:
    ids, lengths = BYTES.encode(["abc", "d"])
    assert lengths.tolist() == [3, 1]
    assert ids[1].tolist() == [BYTES.rows(["d"])[0][0], 0, 0]
    ids, valid = BYTES.encode(["abc", "d"], side="left")
    assert valid.tolist() == [[True] * 3, [False, False, True]]
    assert ids[valid].tolist() == [4 + ord(letter) for letter in "abcd"]


def test_a_side_that_is_none() -> None:
    with pytest.raises(ConfigError, match="side='middle' of padding is not one of right, left"):
        BYTES.encode(["a"], side="middle")


def test_truncation_keeps_the_end_and_happens_only_when_asked() -> None:
    ids, _ = BYTES.encode(["abcdef"], max_len=4, truncate=True, bos=True, eos=True)
    assert ids.tolist() == [[1, 4 + ord("a"), 4 + ord("b"), 2]]
    with pytest.raises(InputError, match=r"text 1 of 8 tokens is longer than the 4 that fit: .* by truncate=True"):
        BYTES.encode(["a", "abcdef"], max_len=4, bos=True, eos=True)
    with pytest.raises(ConfigError, match="max_len=2 leaves no room for a text: its symbols are 2"):
        BYTES.encode(["abc"], max_len=2, truncate=True, bos=True, eos=True)


def test_an_empty_text_is_its_symbols_and_nothing_without_them() -> None:
    assert BYTES.encode([""], eos=True)[0].tolist() == [[2]]
    with pytest.raises(InputError, match=r"text 1 \(''\) has no tokens"):
        BYTES.encode(["a", ""])
    with pytest.raises(InputError, match="an empty batch"):
        BYTES.encode([])


def test_what_is_no_text() -> None:
    with pytest.raises(InputError, match="3 is no text"):
        check_text(3)
    with pytest.raises(InputError, match="is no Unicode text"):
        BYTES.rows(["a\udcff"])


def test_an_id_that_is_no_token() -> None:
    with pytest.raises(InputError, match="token 260: the tokenizer has 260, 0 … 259"):
        BYTES.decode([70, 260])


def test_each_token_has_a_name_of_its_own() -> None:
    assert BYTES.names([1, 4 + 0x61, 4 + 0x20, 4 + 0xC3, 2]) == ["<s>", "a", "␣", "<0xC3>", "</s>"]
    (row,) = PAIRS.rows(["the dog"])
    assert "".join(PAIRS.names(row)) == "the␣dog"
    with pytest.raises(InputError, match="token 260"):
        BYTES.names([260])


def test_a_batch_is_decoded_as_its_rows_are() -> None:
    rows = PAIRS.rows(TEXTS)
    assert PAIRS.decode_batch(rows) == [PAIRS.decode(torch.tensor(row)) for row in rows] == TEXTS


@settings(deadline=None)
@given(data=st.binary(max_size=12))
def test_bytes_that_are_no_text_leave_the_others_readable(data: bytes) -> None:
    ids = [4 + byte for byte in data]
    assert BYTES.decode(ids) == BYTES.with_mask().decode(ids) == data.decode(errors="replace")


def test_an_answer_that_ends_within_a_character_keeps_the_others() -> None:
    (row,) = BYTES.rows(["naïve café"])
    assert BYTES.decode(row[:-1]) == "naïve caf\N{REPLACEMENT CHARACTER}"


def test_what_is_unknown_shows_when_it_is_decoded() -> None:
    assert PIECES.decode(PIECES.rows(["the 漢"], PIECES.frame)[0]) == "the [UNK]"


@pytest.mark.parametrize("tokenizer", [BYTES, PAIRS, PIECES], ids=["bytes", "pairs", "pieces"])
def test_each_word_begins_where_its_own_tokens_do(tokenizer: Tokenizer) -> None:
    text = "  the dog,\tsees größer 12"
    ((row, starts),) = tokenizer.word_rows([text], Frame((tokenizer.bos,)))
    assert len(starts) == 5
    for word, start, stop in zip(text.split(), starts, [*starts[1:], len(row)], strict=True):
        assert tokenizer.decode(row[start:stop]).replace(" ", "").strip() == word


def test_a_word_without_a_token() -> None:
    tokenizer = Tokenizer.train(["a b c"], "wordpiece", 20)
    tokenizer.backend.normalizer = normalizers.BertNormalizer(clean_text=True)
    with pytest.raises(InputError, match=r"word '\\x00' of text 'a \\x00 b' has no token"):
        tokenizer.word_rows(["a \0 b"])


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    for tokenizer in (BYTES, PAIRS, PIECES):
        tokenizer.save(tmp_path / "tokenizer.json")
        again = Tokenizer.load(tmp_path / "tokenizer.json")
        assert again.rows(TEXTS) == tokenizer.rows(TEXTS)
        assert (again.pad, again.bos, again.eos, again.mask) == (
            tokenizer.pad,
            tokenizer.bos,
            tokenizer.eos,
            tokenizer.mask,
        )
        assert again.decode(again.rows(["the </s>"])[0]) == tokenizer.decode(tokenizer.rows(["the </s>"])[0])


def test_symbols_are_found_by_their_usual_names() -> None:
    roberta = words("<unk>", "<s>", "<pad>", "</s>", "a")
    assert (roberta.pad, roberta.bos, roberta.eos, roberta.unk) == (2, 1, 3, 0)
    gpt = words("a", "b", "<|endoftext|>")
    assert (gpt.pad, gpt.bos, gpt.eos) == (2, 2, 2)
    without_begin = words("<unk>", "</s>", "<pad>", "a")
    assert (without_begin.pad, without_begin.bos, without_begin.eos) == (2, 2, 1)


def test_symbols_of_other_names_are_those_that_the_files_beside_it_tell(tmp_path: Path) -> None:
    backend = words("</s>", "[START]", "[STOP]", "[FILL]", "[HOLE]", "a").backend
    backend.save(str(tmp_path / "tokenizer.json"))
    beside = {"cls_token": "[START]", "sep_token": {"content": "[STOP]"}, "pad_token": "[FILL]", "mask_token": "[HOLE]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(beside))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    (tmp_path / "again").mkdir()
    tokenizer.save(tmp_path / "again" / "tokenizer.json")
    for each in (tokenizer, Tokenizer.load(tmp_path / "again" / "tokenizer.json"), tokenizer.with_mask()):
        assert (each.pad, each.bos, each.eos, each.mask) == (3, 1, 2, 4)
        assert each.encode(["a", "[HOLE] a"], bos=True, eos=True)[0].tolist() == [[1, 5, 2, 3], [1, 4, 5, 2]]
        assert each.decode([1, 5, 2, 3]) == "a"


def test_a_vocabulary_without_an_end_or_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a vocabulary without an end: it has none of \[SEP\], </s>"):
        words("<unk>", "a")
    with pytest.raises(ConfigError, match="There is no file"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": 3}))
    with pytest.raises(ConfigError, match=r"is no tokenizer\.json"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_a_frame_of_its_own_is_saved_with_it(tmp_path: Path) -> None:
    PAIRS.with_frame(Frame((1,), (2, 2))).save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").frame == Frame((1,), (2, 2))
    assert PAIRS.frame == Frame()
    assert PIECES.with_frame(Frame()).frame == Frame()


def test_what_cannot_be_learned() -> None:
    with pytest.raises(ConfigError, match="kind='unigram' of a tokenizer is not one of bpe, wordpiece"):
        Tokenizer.train(TEXTS, "unigram")
    with pytest.raises(ConfigError, match="vocab_size=200 is less than 260: 4 symbols and 256 bytes"):
        Tokenizer.train(TEXTS, vocab_size=200)
    with pytest.raises(InputError, match="a tokenizer of 1 texts that are empty"):
        Tokenizer.train([""])


def test_what_a_file_says_of_cutting_and_padding_is_not_done(tmp_path: Path) -> None:
    backend = tokenizers.Tokenizer.from_str(PAIRS.backend.to_str())
    backend.enable_truncation(3)
    backend.enable_padding(length=40)
    backend.save(str(tmp_path / "tokenizer.json"))
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.rows(TEXTS) == PAIRS.rows(TEXTS)
    assert again.decode(again.rows(["one longer text"])[0]) == "one longer text"


@pytest.mark.parametrize("tokenizer", [BYTES, PAIRS, PIECES], ids=["bytes", "pairs", "pieces"])
def test_words_that_are_given_may_have_spaces(tokenizer: Tokenizer) -> None:
    words = ["12 the", "dog", "the", "12 12"]
    ((row, starts),) = tokenizer.word_rows([words], Frame((tokenizer.bos,)))
    assert len(starts) == 4
    for word, start, stop in zip(words, starts, [*starts[1:], len(row)], strict=True):
        assert tokenizer.decode(row[start:stop]).strip() == word
    assert row == tokenizer.rows([" ".join(words)], Frame((tokenizer.bos,)))[0]


def test_what_stands_behind_the_first_end_is_left_out() -> None:
    tokenizer = Tokenizer.byte_level()
    assert tokenizer.until_end(torch.tensor([9, 8, tokenizer.eos, 7, tokenizer.eos])) == [9, 8]
    assert tokenizer.until_end([9, 8]) == [9, 8]
