"""Dialogues as pairs: what was said so far, and the answer; the test's was never read in training."""

import json
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.text.data.parallel_corpus import GeneratedPair
from zoo.plugins.text.data.seq2seq import dialogue
from zoo.plugins.text.data.seq2seq.dialogue import DialogueCorpus, read_dialogues


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few dialogues."""
    monkeypatch.setattr(dialogue, "SIZES", (200, 20, 40))


def opened(text: str = "dialogue", name: str = "transformer-tiny", seed: int = 0, tokenizer: str = "byte") -> Any:
    return open_corpus(text, zoo.info(name), seed, tokenizer)


def test_a_model_reads_all_that_was_said_so_far() -> None:
    corpus = opened()
    first, second, *_ = corpus.parts["train"]
    assert second.source.startswith(f"{first.source}\n{first.target}\n")
    assert second.source.count("\n") == 2
    assert corpus.tokenizer.decode(corpus.sources["train"][1]) == second.source


def test_a_decoder_alone_reads_them_too() -> None:
    assert opened(name="decoder-tiny").sizes == opened().sizes


def test_what_was_said_so_far_in_the_test_never_occurs_in_training() -> None:
    parts = [{pair.source for pair in part} for part in opened().parts.values()]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert len(parts[2]) > 100


def test_a_seed_opens_the_same_and_another_others() -> None:
    assert opened().fingerprint == opened().fingerprint != opened(seed=1).fingerprint


def test_answers_are_scored_by_the_number_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = opened()
    assert isinstance(corpus, DialogueCorpus)

    def write(model: nn.Module, split: str, batch_size: int) -> list[GeneratedPair]:
        """Answer the first two turns of a dialogue only."""
        return [
            GeneratedPair(pair, pair.target if pair.source.count("\n") < 4 else "", pair.target)
            for pair in corpus.parts[split]
        ]

    monkeypatch.setattr(corpus, "write", write)
    monkeypatch.setattr(corpus, "token_metrics", lambda *arguments: {"loss": 1.0})
    scores = corpus.score(nn.Identity(), "test", 8)
    assert [scores[f"exact match, turn {turn}"] for turn in range(2, 7)] == [1, 0, 0, 0, 0]
    assert 0.1 < scores["exact match"] < 0.5


def message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_messages_and_turns_are_read(tmp_path: Path) -> None:
    said = [message("system", "Be kind."), message("user", "hi\nthere"), message("assistant", "hello"),
            message("user", "bye")]  # fmt: skip
    rows = [{"messages": said}, {"turns": ["one", "two", "three", "four"]}]
    (tmp_path / "chat.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    found = list(read_dialogues(tmp_path / "chat.jsonl"))
    assert [each.turns for each in found] == [("Be kind. hi there", "hello", "bye"), ("one", "two", "three", "four")]
    assert found[1].place.endswith("chat.jsonl:3")


def test_dialogues_of_a_file_are_in_one_part_whole(tmp_path: Path) -> None:
    rows = [{"turns": ["hi", f"hello {place}", "bye", f"see you {place}"]} for place in range(40)]
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, rows)))
    parts = opened(f"dialogue:{tmp_path / 'chat.jsonl'}").parts.values()
    homes = [{pair.place for pair in part} for part in parts]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 40
    assert sum(map(len, parts)) == 80
    assert all(homes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[", "chat.jsonl:1: no JSON"),
        ('{"text": "hi"}', "no JSON object with a list of messages or of turns"),
        ('{"turns": ["hi"]}', "1 turns: a dialogue has what the user says and an answer"),
        ('{"turns": ["hi", " "]}', "turn 2 is ' ', no text"),
        (json.dumps({"messages": [message("assistant", "hi")]}), "message 1 has the role 'assistant'.* turn of 'user'"),
        (json.dumps({"messages": [message("user", "a"), message("user", "b")]}), "message 2 .* turn of 'assistant'"),
        (
            json.dumps({"messages": [message("user", "a"), message("assistant", None)]}),
            "content of message 2 is None",
        ),
        ("", "is empty: it has no dialogues"),
    ],
)
def test_a_line_that_is_no_dialogue_is_named(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "chat.jsonl").write_text(line)
    with pytest.raises(DataError, match=words):
        list(read_dialogues(tmp_path / "chat.jsonl"))
