"""Drawn dialogues: reproducible, of all lengths, and answers that the last turn alone does not tell."""

import re
from collections import Counter, defaultdict

from zoo.plugins.text.data.synthetic.dialogue_grammar import COLOURS, PLACES, THINGS, UNKNOWN, Dialogue, draw_dialogues

DIALOGUES = draw_dialogues(3000, 0)


def replay(dialogue: Dialogue) -> list[str]:
    """Answer by rules of this test's own: facts by thing, and `it` is the thing that was named last."""
    facts: dict[str, dict[str, str]] = defaultdict(dict)
    it, answers = "", []
    for said in dialogue.turns[::2]:
        words = said.removeprefix("no, ")
        named = [thing for thing in THINGS if f"my {thing}" in words]
        it = named[0] if named else it
        value = next((each for each in (*COLOURS, *PLACES) if words.endswith(f" is {each}")), "")
        if words.startswith(("what colour is", "where is")):
            found = facts[it].get("place" if words.startswith("where") else "colour")
            answers.append(f"your {it} is {found}" if found else UNKNOWN)
        elif words.startswith("what is"):
            having = sorted(thing for thing, told in facts.items() if value in told.values())
            answers.append(" and ".join(f"your {thing}" for thing in having) or UNKNOWN)
        else:
            facts[it]["place" if value in PLACES else "colour"] = value
            answers.append(f"ok, your {it} is {value}")
    return answers


def test_a_seed_draws_the_same_dialogues_and_another_others() -> None:
    assert draw_dialogues(50, 0) == DIALOGUES[:50]
    assert draw_dialogues(50, 1) != DIALOGUES[:50]


def test_no_two_dialogues_are_alike_and_all_lengths_are_as_many() -> None:
    assert len({each.turns for each in DIALOGUES}) == len(DIALOGUES)
    assert Counter(len(each.turns) // 2 for each in DIALOGUES) == dict.fromkeys(range(2, 7), 600)


def test_answers_follow_from_all_that_was_said() -> None:
    for dialogue in DIALOGUES:
        assert replay(dialogue) == list(dialogue.turns[1::2])


def test_the_last_turn_alone_does_not_tell_the_answer() -> None:
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for dialogue in DIALOGUES:
        for said, answer in zip(dialogue.turns[2::2], dialogue.turns[3::2], strict=True):
            answers[said][answer] += 1
    total = sum(sum(counts.values()) for counts in answers.values())
    best = sum(counts.most_common(1)[0][1] for counts in answers.values())
    assert best / total < 0.65


def test_things_and_values_are_balanced() -> None:
    said = " ".join(turn for dialogue in DIALOGUES for turn in dialogue.turns[::2])
    for words in (THINGS, COLOURS, PLACES):
        counts = [len(re.findall(rf"\b{word}\b", said)) for word in words]
        assert max(counts) < 1.35 * min(counts)
