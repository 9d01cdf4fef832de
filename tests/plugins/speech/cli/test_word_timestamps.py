"""Words and their times, of whole transcripts and of those that grow: however they come, they are the same."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core.generation.ctc_greedy import greedy
from zoo.core.special_tokens import SYMBOLS
from zoo.plugins.shared.audio.ctc_alignment import Aligned, align
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.cli.word_timestamps import (
    HALF,
    IncrementalDecoder,
    PartialTranscript,
    Word,
    WordDecoder,
    words_of,
)

TEXTS = ["one two three", "née Übergröße 😀 b", "four  five, six's"]
KINDS = ["byte", "char", "word", "bpe:300", "wordpiece:60"]


def emitted(ids: list[int], seed: int) -> list[int]:
    """Give what vectors emit that say these tokens: each a few times, and blanks between."""
    generator = torch.Generator().manual_seed(seed)
    path: list[int] = []
    for token in ids:
        blanks, times = (int(torch.randint(0, 3, (1,), generator=generator)) for _ in range(2))
        path += [0] * max(blanks, int(path[-1:] == [token])) + [token] * (times + 1)
    return [*path, 0]


def scores_of(path: list[int], size: int) -> Tensor:
    return 9.0 * torch.nn.functional.one_hot(torch.tensor(path), size).float()[None]


def followed(spoken: WordDecoder, scores: Tensor, sizes: list[int]) -> PartialTranscript:
    parts = [spoken.push(part) for part in scores.split(sizes, dim=1)]
    last = spoken.finish()
    text = "".join(part.text for part in parts) + last.text
    return PartialTranscript(text, tuple(word for part in parts for word in part.words) + last.words)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_transcript_that_grows_is_that_of_the_whole(kind: str, text: str) -> None:
    tokenizer = choose_tokenizer(kind, "", TEXTS)
    (ids,) = tokenizer.rows([text])
    path = emitted(ids, seed=len(text))
    scores, lengths = scores_of(path, tokenizer.vocab_size), torch.tensor([len(path)])
    found = greedy(scores, lengths)
    assert found.best() == [ids]
    (tokens,) = align(scores, lengths, found.best())
    whole = PartialTranscript(tokenizer.decode(ids), words_of(tokens, tokenizer.decode_batch))
    assert len(whole.words) > 2
    for sizes in ([len(path)], [1] * len(path), [3, 0, len(path) - 3]):
        assert followed(WordDecoder(tokenizer.decode_batch, SYMBOLS), scores, sizes) == whole


def test_text_is_told_with_its_vector_and_a_word_when_it_is_complete() -> None:
    tokenizer = Tokenizer.byte_level()
    (ids,) = tokenizer.rows(["é b"])
    first, second, space, b = ids
    spoken, said = WordDecoder(tokenizer.decode_batch, SYMBOLS), []
    for token in (first, second, second, 0, space, space, b, b, 0):
        said.append(spoken.push(scores_of([token], tokenizer.vocab_size)))
    assert [each.text for each in said] == ["", "é", "", "", " ", "", "b", "", ""]
    assert [each.open for each in said] == [
        None,
        *[Word("é", 0, 80), Word("é", 0, 120), Word("é", 0, 120)],
        *[None, None],
        *[Word("b", 240, 280), Word("b", 240, 320), Word("b", 240, 320)],
    ]
    assert [each.words for each in said] == [(), (), (), (), (Word("é", 0, 120),), (), (), (), ()]
    assert spoken.finish() == PartialTranscript("", (Word("b", 240, 320),))


def test_half_a_character_is_told_at_the_end_or_when_it_stays_one() -> None:
    tokenizer = Tokenizer.byte_level()
    (ids,) = tokenizer.rows(["é"])
    spelling = IncrementalDecoder(tokenizer.decode_batch)
    assert spelling.push(ids[0]) == ""
    assert spelling.pending
    assert spelling.finish() == HALF
    assert spelling.finish() == ""


def test_a_byte_that_is_no_character_is_told_as_such_and_no_other_with_it() -> None:
    tokenizer = Tokenizer.byte_level()
    (ids,) = tokenizer.rows(["aébc😀d"])
    bad = [*ids[:2], *ids[3:]]  # of é only the first byte
    spelling = IncrementalDecoder(tokenizer.decode_batch)
    pieces = [spelling.push(token) for token in bad]
    assert "".join([*pieces, spelling.finish()]) == f"a{HALF}bc😀d"
    assert pieces[0] == "a"


def test_what_is_kept_of_a_text_does_not_grow() -> None:
    tokenizer = Tokenizer.byte_level()
    spelling = IncrementalDecoder(tokenizer.decode_batch)
    (ids,) = tokenizer.rows(["ab " * 50 + "字" * 50])
    text, kept = "", 0
    for token in ids:
        text += spelling.push(token)
        kept = max(kept, len(spelling.ids))
    assert text == tokenizer.decode(ids)
    assert kept <= 6  # a character behind another


def test_tokens_that_say_nothing_stand_between_pieces_without_parting_or_joining_words() -> None:
    tokenizer: Any = choose_tokenizer("word", "", TEXTS)
    one, two = tokenizer.rows(["one two"])[0]
    spelling = IncrementalDecoder(tokenizer.decode_batch)
    assert [spelling.push(token) for token in (one, tokenizer.bos, two)] == ["one", "", " two"]


def test_words_hold_the_tokens_that_write_them() -> None:
    (row,) = Tokenizer.byte_level().rows([" né  b "])
    tokens = [Aligned(token, 2 * at, 2 * at + 1, 0.5) for at, token in enumerate(row)]
    found = words_of(tokens, Tokenizer.byte_level().decode_batch)
    assert found == (Word("né", 80, 280), Word("b", 480, 520))
    (row,) = Tokenizer.byte_level().rows(["a éß"])
    tokens = [Aligned(token, at, at + 1, 0.5) for at, token in enumerate(row)]
    assert words_of(tokens, Tokenizer.byte_level().decode_batch) == (Word("a", 0, 40), Word("éß", 80, 240))
    assert words_of([], Tokenizer.byte_level().decode_batch) == ()
