"""Texts against references: the scores are those of sacrebleu, and of torchaudio's edit distance."""

import numpy as np
import pytest
import sacrebleu

from zoo.data import Written
from zoo.evaluation.judge import Item
from zoo.evaluation.tasks.tokens import TokenJudge, TokenSums
from zoo.evaluation.tasks.written import Both, TranscriptJudge, TranslationJudge
from zoo.plugins.shared.text.metrics import bleu

TEXTS = ["the cat sat on the mat", "a dog ran home today", "no"]
WANTED = [("the cat sat on a mat", "a cat was on the mat"), ("a dog ran home today",), ("yes",)]
ITEMS = [Item("test", place) for place in range(3)]
WRITTEN = [Written(place, text, wanted) for place, (text, wanted) in enumerate(zip(TEXTS, WANTED, strict=True))]


def test_bleu_and_chrf_are_those_of_sacrebleu_with_several_references() -> None:
    found = TranslationJudge(ITEMS, WRITTEN, "13a").scores(np.array([0, 1, 2]))
    streams: list[list[str]] = [[each[0] for each in WANTED], [WANTED[0][1], None, None]]  # type: ignore[list-item]
    assert found["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(TEXTS, streams).score)
    assert found["chrF"] == pytest.approx(sacrebleu.corpus_chrf(TEXTS, streams).score)
    assert found["exact match"] == pytest.approx(1 / 3)


def test_a_draw_scores_as_the_corpus_of_its_texts_does() -> None:
    found = TranslationJudge(ITEMS[1:], WRITTEN[1:], "13a").scores(np.array([0, 0, 1]))
    texts, wanted = ["a dog ran home today"] * 2 + ["no"], [["a dog ran home today"] * 2 + ["yes"]]
    assert found["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(texts, wanted).score)


def test_short_texts_have_the_bleu_that_a_training_tells() -> None:
    written = [Written(place, "a red three", (wanted,)) for place, wanted in enumerate(("a red three", "a red four"))]
    found = TranslationJudge(ITEMS[:2], written, "13a").scores(np.array([0, 1]))["BLEU"]
    assert found == pytest.approx(bleu([each.text for each in written], [each.wanted for each in written], "13a"))
    assert found > 50


def test_error_rates_are_edits_over_the_length_of_the_references() -> None:
    written = [Written(0, "one two", ("one too two",)), Written(1, "six", ("six",))]
    judge = TranscriptJudge(ITEMS[:2], written)
    assert judge.scores(np.array([0, 1]))["word error rate"] == 1 / 4
    assert judge.scores(np.array([0, 1]))["character error rate"] == pytest.approx(4 / 14)
    assert judge.losses().argmax() == 0


def test_what_is_written_and_its_tokens_are_judged_on_the_same_items() -> None:
    tokens = TokenJudge(ITEMS[::-1], [TokenSums(place, 0, 1) for place in (2.0, 1.0, 0.0)])
    found = Both(TranslationJudge(ITEMS, WRITTEN, "13a"), tokens).scores(np.array([1]))
    assert found["perplexity"] == pytest.approx(np.e)
    assert found["exact match"] == 1
