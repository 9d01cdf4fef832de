"""Tasks learned from nothing on one core, with the settings of `docs/text.md`; what is judged was never trained on."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest
import torch

import zoo

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

SMALL: dict[str, Any] = {"depth": 1, "dropout": 0.0}
"""Enough for strings."""


def learned(folder: Path, name: str, data: str, **settings: Any) -> dict[str, float]:
    """Train, and give the scores of the test examples."""
    options = {"batch_size": 64, "validations": 2, "seed": 0} | settings
    return zoo.train(name, data, out=folder, **options).scores


def written(folder: Path, text: str) -> str:
    """Let the model that lies in a folder answer, as users do."""
    name = f"local-dir:{folder}"
    model = zoo.create(name, pretrained=True).eval()
    answer: str = zoo.postprocess(name)(model.generate(*zoo.preprocess(name)(text), max_len=100))[0]
    return answer


def by_length(scores: dict[str, float], lengths: range) -> list[float]:
    return [scores[f"exact match, length {length}"] for length in lengths]


def test_strings_are_copied_and_longer_ones_too_where_positions_are_shifted(tmp_path: Path) -> None:
    scores = learned(tmp_path, "transformer-tiny", "copy", steps=1000, shift=32, **SMALL)
    assert scores["exact match"] >= 0.99
    assert scores["exact match, longer"] >= 0.95
    assert min(by_length(scores, range(3, 25))) >= 0.95
    assert written(tmp_path, "abcdefghijabcdefghij") == "abcdefghijabcdefghij"


def test_strings_are_reversed(tmp_path: Path) -> None:
    scores = learned(tmp_path, "transformer-tiny", "reverse", steps=600, mlp_dim=256, **SMALL)
    assert scores["exact match"] >= 0.99
    assert written(tmp_path, "abcdefgh") == "hgfedcba"


def test_strings_are_copied_by_a_decoder_that_writes_all_places_at_once(tmp_path: Path) -> None:
    sizes = {"vocab_size": 260, "dim": 64, "depth": 2, "num_heads": 4, "mlp_dim": 256}
    scores = learned(tmp_path, "nat-base", "copy", steps=400, **sizes)
    assert scores["exact match"] >= 0.99
    assert scores["exact match, longer"] >= 0.95
    assert written(tmp_path, "abcdefghijabcdefghij") == "abcdefghijabcdefghij"


def test_numbers_are_written_in_words(tmp_path: Path) -> None:
    """Units before tens, all in one word; English is learned below, by a recurrent decoder."""
    scores = learned(tmp_path, "transformer-tiny", "numbers:de", steps=300)
    assert scores["BLEU"] >= 99
    assert scores["exact match"] >= 0.98
    assert written(tmp_path, "42701") == "zweiundvierzigtausendsiebenhunderteins"
    assert written(tmp_path, "7") == "sieben"


def test_sentences_are_parsed(tmp_path: Path) -> None:
    scores = learned(tmp_path, "transformer-tiny", "parse", steps=900, batch_size=32, depth=2, dropout=0.0)
    assert scores["exact match"] >= 0.94
    assert scores["token accuracy"] >= 0.99
    tree = "(S (NP deep learning) (VP is (ADJV very powerful)))"
    assert written(tmp_path, "deep learning is very powerful") == tree


def test_texts_are_given_the_set_of_their_topics(tmp_path: Path) -> None:
    scores = learned(tmp_path, "transformer-tiny", "topics", steps=500, batch_size=32, depth=2, dropout=0.0)
    assert scores["exact match"] >= 0.9
    assert written(tmp_path, "the dog likes jazz. a storm is near the island") == "animals music weather"


def test_words_are_given_their_part_of_speech(tmp_path: Path) -> None:
    scores = learned(tmp_path, "bert-tiny", "tags", steps=200)
    assert scores["accuracy"] >= 0.99
    name, text = f"local-dir:{tmp_path}", "the walks match the test"
    model = zoo.create(name, pretrained=True).eval()
    with torch.no_grad():
        answer = model(*zoo.preprocess(name)(text))
    assert zoo.postprocess(name)(answer, [text]) == [["DET", "NOUN", "VERB", "DET", "NOUN"]]


def test_numbers_are_written_by_a_recurrent_decoder_with_attention(tmp_path: Path) -> None:
    assert learned(tmp_path, "rnn-attention-tiny", "numbers:en", steps=400, validations=1)["BLEU"] >= 98


def test_negation_and_contrast_are_read_where_a_bag_of_words_fails(tmp_path: Path) -> None:
    scores = learned(tmp_path, "bert-tiny", "sentiment", steps=400, optimizer="muon", dropout=0.0)
    assert scores["accuracy"] >= 0.9
    name = f"local-dir:{tmp_path}"
    model = zoo.create(name, pretrained=True).eval()
    with torch.no_grad():
        (found,) = zoo.postprocess(name)(model(*zoo.preprocess(name)("the film was not bad but the meal was awful")))
    assert found["negative"] > 0.5


def topics_of_python(folder: Path) -> str:
    """Write the paragraphs of Python's own help texts, a line each: 312,000 letters of English."""
    found = [" ".join(text.split()) for topic in topics.values() for text in topic.split("\n\n")]
    text = "\n".join(sorted({text for text in found if len(text) >= 80}))
    (folder / "topics.txt").write_text(text, encoding="utf-8")
    return text


def bits_of_pairs(text: str) -> float:
    """Give the bits of a letter by the letter before it, counted on the text itself."""
    before, both = Counter(text[:-1]), Counter(pairwise(text))
    return -sum(count * math.log2(count / before[first]) for (first, _), count in both.items()) / (len(text) - 1)


@pytest.mark.parametrize(("name", "steps", "rate"), [("lstm-lm-micro", 400, 0.02), ("gru-lm-micro", 200, 0.01)])
def test_recurrent_language_models_learn_an_english_text(tmp_path: Path, name: str, steps: int, rate: float) -> None:
    text = topics_of_python(tmp_path)
    settings = {"batch_size": 32, "validations": 1, "tokenizer": "byte", "max_len": 128, "dropout": 0.0}
    scores = learned(
        tmp_path / "run", name, f"lines:{tmp_path}/topics.txt", steps=steps, learning_rate=rate, **settings
    )
    assert math.log2(scores["perplexity"]) < bits_of_pairs(text) - 0.3
