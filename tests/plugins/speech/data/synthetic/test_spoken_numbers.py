"""Speech translation of numbers: other numbers and other voices in the test, for models that may reorder."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import ConfigError, DataError
from zoo.plugins.shared.text.number_words import english, german
from zoo.plugins.speech.data.synthetic import espeak, spoken_numbers
from zoo.plugins.speech.data.synthetic.spoken_numbers import TranslationsCorpus, draw
from zoo.plugins.speech.data.synthetic.voices import Utterance

said: list[Utterance] = []


def hum(utterance: Utterance) -> torch.Tensor:
    """Stand for espeak-ng."""
    said.append(utterance)
    return torch.linspace(-1, 1, 100 * len(utterance.text) + 400)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few numbers be hummed, and kept here."""
    said.clear()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    monkeypatch.setattr(espeak, "speak", hum)
    monkeypatch.setattr(espeak, "version", lambda: "1.51")
    monkeypatch.setattr(spoken_numbers, "SIZES", (60, 10, 20))


def opened(text: str = "spoken-numbers", name: str = "speech-translator-tiny", seed: int = 0, **config: Any) -> Any:
    return open_corpus(text, zoo.info(name).with_config(**config), seed, "")


@pytest.mark.usefixtures("quick")
def test_what_is_said_in_one_language_is_written_in_another() -> None:
    corpus = opened()
    assert isinstance(corpus, TranslationsCorpus)
    assert corpus.sizes == {"train": 60, "validation": 10, "test": 20}
    words = {english(number): german(number) for number in range(1, 1000)}
    assert corpus.texts["train"] == [words[each.text] for each in said[:60]]
    assert corpus.texts["test"] == [words[each.text] for each in said[70:]]
    assert {each.accent.partition("-")[0] for each in said} == {"en"}
    said.clear()
    corpus = opened("spoken-numbers:de-en")
    assert {each.accent for each in said} == {"de"}
    assert corpus.texts["train"] == [english(next(n for n in range(1000) if n and german(n) == each.text))
                                     for each in said[:60]]  # fmt: skip


@pytest.mark.usefixtures("quick")
def test_they_are_said_once_for_a_language_and_a_seed() -> None:
    first = opened("spoken-numbers:en-de")
    assert opened().fingerprint == first.fingerprint
    assert opened("spoken-numbers:en-en").fingerprint != first.fingerprint
    assert len(said) == 90
    assert opened(seed=1).fingerprint != first.fingerprint
    assert len(said) == 180


@pytest.mark.usefixtures("quick")
def test_the_language_of_the_words_is_told_and_makes_other_data() -> None:
    model = zoo.info("speech-translator-tiny")
    same, other = (open_corpus(f"spoken-numbers:{pair}", model, 0, "byte") for pair in ("en-en", "en-de"))
    assert same.fingerprint != other.fingerprint  # with a tokenizer that does not tell
    assert "words in the same language" in same.description
    assert "words in another language" in other.description


def test_neither_a_number_nor_a_voice_of_the_test_is_heard_in_training() -> None:
    parts = draw("en", (2000, 100, 200), 0)
    for values in (
        [{each.text for each in part} for part in parts],
        [{each.speaker for each in part} for part in parts],
    ):
        assert sum(map(len, values)) == len(set.union(*values))
    assert {english(number) for number in range(1, 100)} <= {each.text for each in parts.train}


def test_numbers_and_voices_are_balanced() -> None:
    parts = draw("de", (2000, 100, 200), 0)
    assert set(Counter(each.text for each in parts.test).values()) == {2}
    assert set(Counter(each.text for each in parts.train).values()) <= {2, 3}
    for part in parts:
        counts = Counter(each.speaker for each in part).values()
        assert max(counts) - min(counts) <= 1


def test_a_seed_draws_the_same_and_another_others() -> None:
    sizes = (20, 5, 5)
    assert draw("en", sizes, 0) == draw("en", sizes, 0) != draw("en", sizes, 1)


@pytest.mark.usefixtures("quick")
def test_a_joined_model_reads_them_and_one_that_writes_in_order_does_not() -> None:
    assert opened(name="joined:speech-micro+decoder-tiny").sizes["test"] == 20
    for by in ("ctc", "joint"):
        with pytest.raises(ConfigError, match=f"'speech-tiny' with by='{by}' writes in the order of what is said"):
            opened(name="speech-tiny", by=by)


@pytest.mark.parametrize("pair", ["en", "en-fr", "xx-de", "en-de-en"])
def test_languages_that_are_not_there(pair: str) -> None:
    with pytest.raises(
        DataError, match=f"'spoken-numbers:{pair}': it is FROM-TO, such as en-de, of the languages en, de"
    ):
        opened(f"spoken-numbers:{pair}")


@pytest.mark.usefixtures("quick")
def test_exact_matches_choose_and_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = opened()
    monkeypatch.setattr(corpus, "write", lambda *arguments: [("eins", "eins"), ("zwei", "drei")])
    scores = corpus.score(torch.nn.Identity(), "test", 4)
    assert next(iter(scores)) == corpus.metric == "exact match"
    assert scores["exact match"] == 0.5
    assert tuple(scores) == corpus.metrics(torch.nn.Identity())
