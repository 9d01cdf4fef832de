"""Entities of words, in the schemes there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zoo
from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.tasks.entities import EntityJudge, entities, marks_entities, strict_entities


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("B-PER I-PER O B-LOC", [("PER", 0, 1), ("LOC", 3, 3)]),
        ("B-PER B-PER", [("PER", 0, 0), ("PER", 1, 1)]),
        ("I-PER I-PER I-LOC", [("PER", 0, 1), ("LOC", 2, 2)]),  # IOB1
        ("S-PER B-LOC I-LOC E-LOC S-LOC", [("PER", 0, 0), ("LOC", 1, 3), ("LOC", 4, 4)]),  # IOBES
        ("U-PER B-LOC L-LOC O", [("PER", 0, 0), ("LOC", 1, 2)]),  # BILOU
        ("O O", []),
    ],
)
def test_entities_begin_and_end_as_their_scheme_says(labels: str, found: list[tuple[str, int, int]]) -> None:
    assert list(entities(labels.split())) == found


def judge_of(labels: list[str], wanted: list[list[int]], found: list[list[int]]) -> EntityJudge:
    owner = np.repeat(np.arange(len(wanted)), [len(row) for row in wanted])
    values = np.eye(len(labels))[np.concatenate(found)]
    items = [Item("test", place) for place in range(len(wanted))]
    return EntityJudge(Answers(items, owner, values, np.concatenate(wanted)), labels)


@pytest.mark.parametrize(
    ("wanted", "found", "lenient", "strict"),
    [
        ("B-A I-A O", "I-A I-A O", 1.0, 0.0),  # begun by I: counts for conlleval only
        ("B-A I-A O", "B-A I-B O", 0.0, 0.0),  # the kind changes within
        ("B-A O B-B", "B-A O I-B", 1.0, 2 / 3),
        ("B-A I-A I-A", "B-A B-A I-A", 0.0, 0.0),
        ("B-A B-A O", "B-A I-A O", 0.0, 0.0),
    ],
)
def test_malformed_labels_count_as_in_conlleval_and_not_at_all_in_the_strict_score(
    wanted: str, found: str, lenient: float, strict: float
) -> None:
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    rows = [[labels.index(label) for label in text.split()] for text in (wanted, found)]
    scores = judge_of(labels, rows[:1], rows[1:]).scores(np.array([0]))
    assert scores["entity F1"] == pytest.approx(lenient)
    assert scores["strict entity F1"] == pytest.approx(strict)


def test_labels_in_which_i_begins_entities_have_no_strict_score() -> None:
    assert "strict entity F1" not in judge_of(["O", "B-A", "I-A"], [[2, 2, 1]], [[2, 2, 1]]).scores(np.array([0]))


@pytest.mark.parametrize("marks", ["BI", "BIES"])
@pytest.mark.parametrize("seed", range(20))
def test_entities_of_any_labels_are_those_of_seqeval(marks: str, seed: int) -> None:
    """Random labels are mostly malformed; of the strict schemes, seqeval reads each sentence by itself."""
    from seqeval.metrics.sequence_labeling import get_entities
    from seqeval.scheme import IOB2, IOBES, Entities

    rng = np.random.default_rng(seed)
    labels = np.array(["O", *(f"{mark}-{kind}" for kind in ("PER", "LOC", "A-B") for mark in marks)])
    text = rng.choice(labels, 30).tolist()
    assert list(entities(text)) == get_entities(text)
    (strict,) = Entities([text], IOB2 if marks == "BI" else IOBES).entities
    assert list(strict_entities(text, marks == "BIES")) == [(one.tag, one.start, one.end - 1) for one in strict]


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_any_labels_are_those_of_seqeval(seed: int) -> None:
    from seqeval.metrics import f1_score, precision_score, recall_score
    from seqeval.scheme import IOB2

    rng = np.random.default_rng(seed)
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    good = [[1, 2, 0, 3, 4, 4, 0, 1], [0, 0, 3, 1], [3, 4, 1, 2, 2, 0]]
    mine = [[int(rng.choice(5)) if rng.random() < 0.4 else label for label in row] for row in good]
    scores = judge_of(labels, good, mine).scores(np.arange(3))
    true, told = ([[labels[place] for place in row] for row in rows] for rows in (good, mine))
    assert scores["entity F1"] == pytest.approx(f1_score(true, told))
    assert scores["entity precision"] == pytest.approx(precision_score(true, told))
    assert scores["entity recall"] == pytest.approx(recall_score(true, told))
    assert scores["strict entity F1"] == pytest.approx(f1_score(true, told, mode="strict", scheme=IOB2))


def test_labels_of_other_kinds_mark_no_entities() -> None:
    assert marks_entities(["O", "B-PER", "I-PER"])
    assert not marks_entities(["O", "NOUN"])
    assert not marks_entities(["B-PER", "I-PER"])


def test_an_entity_counts_where_kind_and_both_ends_are_right() -> None:
    labels = ["O", "B-PER", "I-PER"]
    wanted = np.array([1, 2, 0, 1, 0])  # sentence 1: one of two words, sentence 2: one of one
    found = np.array([1, 2, 0, 1, 2])
    answers = Answers([Item("test", 0), Item("test", 1)], np.array([0, 0, 0, 1, 1]), np.eye(3)[found], wanted)
    judge = EntityJudge(answers, labels)
    assert judge.scores(np.array([0, 1]))["entity F1"] == 0.5
    assert judge.scores(np.array([0, 0]))["entity F1"] == 1


def test_a_single_sentence_stays_one_item(tmp_path: Path) -> None:
    sentences = [f"Ann{n} B-PER\nLee I-PER\nsleeps O" for n in range(12)]
    (tmp_path / "a.conll").write_text("\n\n".join(sentences) + "\n")
    sizes: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    run = zoo.train("bert-micro", tmp_path / "a.conll", steps=1, batch_size=8, tokenizer="byte", **sizes)
    corpus: Any = zoo.data.open_corpus(str(tmp_path / "a.conll"), zoo.info("bert-micro"), 0, "byte")
    assert corpus.sizes["test"] == 1
    found = zoo.evaluate(run, samples=2)
    assert found.count == 1
    assert isinstance(found.judge, EntityJudge)
    assert len(found.judge.answers.owner) == 3
    assert found.items()[0]["wanted"] == "B-PER I-PER O"
