"""Scores of texts against references."""

import random

import pytest

from zoo.plugins.shared.text.metrics import bleu, edit_distance, normalised, token_f1


def test_edit_distance_is_that_of_torchaudio() -> None:
    peer = pytest.importorskip("torchaudio").functional.edit_distance
    rng = random.Random(0)
    for _ in range(50):
        one, other = (rng.choices("abc", k=rng.randint(0, 6)) for _ in range(2))
        assert edit_distance(one, other) == peer(one, other)


def test_right_texts_have_full_bleu_however_short() -> None:
    assert bleu(["a red cat", "two dogs"], ["a red cat", "two dogs"], "13a") == pytest.approx(100)
    assert 0 < bleu(["a red cat", "two cats"], ["a red cat", "two dogs"], "13a") < 100
    assert bleu(["", ""], ["a red cat", "two dogs"], "13a") == 0


def test_bleu_is_that_of_sacrebleu_where_four_words_follow_each_other() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    written, wanted = ["a red cat sat down", "no"], ["a red cat sits down", "no"]
    assert bleu(written, wanted, "13a") == sacrebleu.corpus_bleu(written, [wanted]).score


def test_words_count_in_any_order_without_case_punctuation_and_articles() -> None:
    assert normalised("The  Red ball, (a big one)!") == "red ball big one"
    assert token_f1("A red ball.", "the ball red") == 1
    assert token_f1("the red ball", "ball") == pytest.approx(2 / 3)  # precision 1/2, recall 1
    assert token_f1("ball ball", "ball") == pytest.approx(2 / 3)  # a word counts as often as it is there
    assert token_f1("", "ball") == 0
    assert token_f1("the", "a") == 1  # nothing is left of both
