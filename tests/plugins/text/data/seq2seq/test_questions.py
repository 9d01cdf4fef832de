"""Questions with passages: no passage of the test is trained on, and the nearest answer counts."""

import json
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.text.data.parallel_corpus import GeneratedPair
from zoo.plugins.text.data.seq2seq import questions
from zoo.plugins.text.data.seq2seq.questions import QuestionsCorpus, read_squad

SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Rivers",
            "paragraphs": [
                {
                    "context": "The Rhine flows\nto the North Sea.",
                    "qas": [
                        {
                            "id": "a1",
                            "question": "Where does the Rhine  flow?",
                            "answers": [
                                {"text": "North Sea", "answer_start": 23},
                                {"text": "the North Sea", "answer_start": 19},
                                {"text": "North Sea", "answer_start": 23},
                            ],
                        },
                        {"id": "a2", "question": "Where does the Elbe flow?", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few passages."""
    monkeypatch.setattr(questions, "SIZES", (100, 10, 20))


def opened(text: str = "questions", name: str = "transformer-tiny", seed: int = 0) -> Any:
    return open_corpus(text, zoo.info(name), seed, "byte")


def test_made_passages_are_drawn_for_a_seed_and_no_tested_one_is_trained() -> None:
    corpus = opened()
    assert isinstance(corpus, QuestionsCorpus)
    assert corpus.sizes == {"train": 100, "validation": 10, "test": 20}
    contexts = [{pair.source.partition(" question: ")[0] for pair in part} for part in corpus.parts.values()]
    assert len(set.union(*contexts)) == 130
    assert corpus.fingerprint == opened().fingerprint != opened(seed=1).fingerprint
    assert opened(name="decoder-tiny").sizes == corpus.sizes


def test_squad_is_read_with_each_answer_once(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(json.dumps(SQUAD))
    asked = "context: The Rhine flows to the North Sea. question: Where does the {} flow?"
    assert [pair[:2] for pair in read_squad(tmp_path / "train.json")] == [
        (asked.format("Rhine"), "North Sea"),
        (asked.format("Rhine"), "the North Sea"),
        (asked.format("Elbe"), "no answer"),
    ]


def test_of_several_answers_the_nearest_counts_and_a_question_counts_once(tmp_path: Path) -> None:
    rows = "".join(f"question {place}?\tcontext {place}\tanswer\n" for place in range(5))
    (tmp_path / "train.tsv").write_text(rows)
    (tmp_path / "validation.tsv").write_text("who?\tme\tme\n")
    (tmp_path / "test.tsv").write_text("who?\tA\tred ball\nwho?\tA\tblue\nwhere?\tB\tin the garden\n")
    corpus = opened(f"questions:{tmp_path}")
    written = [GeneratedPair(pair, text, "") for pair, text in
               zip(corpus.parts["test"], ("The red ball!", "The red ball!", "garden"), strict=True)]  # fmt: skip
    scores = corpus.metrics_of(written)
    assert scores["exact match"] == 0.5
    assert scores["F1"] == pytest.approx((1 + 2 / 3) / 2)  # "garden" of "in garden": precision 1, recall 1/2


def test_questions_about_a_passage_are_in_one_part(tmp_path: Path) -> None:
    rows = [f"{word}?\tpassage {place}\tanswer\n" for place in range(30) for word in ("who", "where")]
    (tmp_path / "own.tsv").write_text("".join(rows))
    parts = opened(f"questions:{tmp_path / 'own.tsv'}").parts.values()
    contexts = [{pair.source.partition(" question: ")[0] for pair in part} for part in parts]
    assert sum(map(len, contexts)) == len(set.union(*contexts)) == 30


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", r"a\.json: no JSON"),
        ("a.json", '{"data": [{"paragraphs": [{"qas": []}, {"qas": [{}]}]}]}', "not in the form of SQuAD.*'context'"),
        ("a.json", '{"text": 1}', "not in the form of SQuAD.*'data' is missing"),
        ("a.tsv", "who?\t \tme\n", r"a\.tsv:1: the context is empty"),
        ("a.tsv", "who?\tme\n", r"a\.tsv:1: 2 columns, question<TAB>context<TAB>answer wanted"),
    ],
)
def test_a_file_that_lacks_something_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        opened(f"questions:{tmp_path / name}")
