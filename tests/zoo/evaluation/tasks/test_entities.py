"""Entities of words, in the schemes there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zoo
from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.tasks.entities import EntityJudge, entities, marks_entities


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
