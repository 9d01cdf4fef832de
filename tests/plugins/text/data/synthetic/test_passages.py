"""Made passages: reproducible, each question of one answer that stands in the passage, all kinds as often."""

from collections import Counter

from zoo.plugins.text.data.synthetic.passages import COLOURS, DAYS, KINDS, NAMES, OBJECTS, PLACES, draw_questions

DRAWN = draw_questions(3000, 0)


def test_a_seed_draws_the_same_questions_and_another_others() -> None:
    assert draw_questions(50, 0) == DRAWN[:50]
    assert draw_questions(50, 1) != DRAWN[:50]


def test_no_two_passages_are_alike() -> None:
    assert len({each.context for each in DRAWN}) == len(DRAWN)


def test_all_kinds_of_questions_are_as_many_and_answers_are_balanced() -> None:
    assert Counter(each.kind for each in DRAWN) == dict.fromkeys(KINDS, 600)
    for kind, words in (("who", NAMES), ("where", PLACES), ("colour", COLOURS), ("when", DAYS)):
        counts = Counter(each.answer.removeprefix("on ") for each in DRAWN if each.kind == kind)
        known = {word.removeprefix("on ") for word in words}
        assert counts.keys() == known
        assert max(counts.values()) < 2 * min(counts.values())


def test_the_answer_stands_in_the_one_sentence_that_the_question_is_about() -> None:
    for each in DRAWN:
        asked = {word for word in (*NAMES, *OBJECTS) if word in each.question.replace("?", " ").split()}
        if not asked:
            continue
        (sentence,) = [part for part in each.context.split(".") if any(word in part.split() for word in asked)]
        assert each.answer in sentence


def test_other_sentences_answer_the_same_kind_of_question() -> None:
    for each in DRAWN:
        assert 2 <= each.context.count(".") <= 4
        assert sum(name in each.context for name in NAMES) == each.context.count(".")
