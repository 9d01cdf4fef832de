"""Spoken digits: the same for a seed, spoken once, in voices that part training and test."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.speech.data.corpus import ClipsCorpus
from zoo.plugins.speech.data.frame_labels import FramesCorpus
from zoo.plugins.speech.data.synthetic import espeak, spoken_digits
from zoo.plugins.speech.data.synthetic.voices import DIGITS, Utterance
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus

SPEC = zoo.info("speech-tiny")
said: list[Utterance] = []


def hum(utterance: Utterance) -> torch.Tensor:
    """Stand for espeak-ng: as many samples as letters, times a hundred."""
    said.append(utterance)
    return torch.linspace(-1, 1, 100 * len(utterance.text) + 400)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few digits be hummed, and kept here."""
    said.clear()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    monkeypatch.setattr(espeak, "speak", hum)
    monkeypatch.setattr(espeak, "version", lambda: "1.51")
    monkeypatch.setattr(spoken_digits, "SIZES", {"words": (40, 10, 16), "strings": (30, 8, 12)})
    monkeypatch.setattr(spoken_digits, "TRAIN", (10, 60))


def opened(text: str = "spoken-digits", seed: int = 0, tokenizer: str = "", **config: Any) -> Any:
    return open_corpus(text, SPEC.with_config(**config), seed, tokenizer)


@pytest.mark.usefixtures("quick")
def test_single_digits_are_clips_of_ten_labels() -> None:
    corpus = opened()
    assert isinstance(corpus, ClipsCorpus)
    assert corpus.sizes == {"train": 40, "validation": 10, "test": 16}
    assert corpus.overrides() == {"num_classes": 10}
    assert corpus.labels == list(DIGITS)
    spoken_lengths = [400 + 100 * len(DIGITS[place]) for place in corpus.classes["test"].tolist()]
    assert corpus.lengths["test"].tolist() == spoken_lengths


@pytest.mark.usefixtures("quick")
def test_sounds_are_those_that_were_spoken() -> None:
    corpus = opened()
    for split, first in (("train", 0), ("validation", 40), ("test", 50)):
        for place in (0, 5):
            torch.testing.assert_close(corpus.sounds[split][place], hum(said[first + place]), atol=1e-4, rtol=0)


@pytest.mark.usefixtures("quick")
def test_they_are_spoken_once_for_a_seed(tmp_path: Path) -> None:
    first, again = opened(), opened()
    assert len(said) == 66
    assert first.fingerprint == again.fingerprint
    other = opened(seed=1)
    assert len(said) == 2 * 66
    assert other.fingerprint != first.fingerprint
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.usefixtures("quick")
def test_another_espeak_speaks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened()
    monkeypatch.setattr(espeak, "version", lambda: "1.52")
    assert opened().fingerprint != first.fingerprint
    assert len(said) == 2 * 66


@pytest.mark.usefixtures("quick")
def test_strings_are_transcripts_whose_tokens_are_words() -> None:
    corpus = opened("spoken-digits:strings")
    assert isinstance(corpus, TranscriptsCorpus)
    assert corpus.sizes == {"train": 30, "validation": 8, "test": 12}
    assert corpus.overrides() == {"vocab_size": 14, "task": "generate"}
    assert set(" ".join(corpus.texts["train"]).split()) == set(DIGITS)
    letters = opened("spoken-digits:strings", tokenizer="char")
    assert letters.overrides()["vocab_size"] == 4 + len(set(" ".join(DIGITS)))


@pytest.mark.usefixtures("quick")
def test_frames_are_the_same_digits_strung_together_in_one_voice() -> None:
    corpus = opened("spoken-digits:frames")
    opened("spoken-digits:words")
    assert len(said) == 66
    assert isinstance(corpus, FramesCorpus)
    assert corpus.sizes == {"train": 40, "validation": 10, "test": 16}
    assert corpus.overrides() == {"num_classes": 11, "task": "tag"}
    strung: Any = corpus.sounds["test"]
    for string in strung.strings:
        assert len({said[50 + clip].speaker for clip in string.clips}) == 1
    inputs, target = corpus.batch(torch.arange(2), torch.Generator().manual_seed(0))
    assert [int((row != -100).sum()) for row in target] == FrameStem(SoundConfig(dim=8)).count(inputs[1]).tolist()


@pytest.mark.usefixtures("quick")
def test_training_is_heard_in_other_rooms_each_time_and_the_test_in_the_same() -> None:
    corpus = opened()
    index = torch.arange(4)
    one, other = (corpus.batch(index, torch.Generator().manual_seed(seed)).inputs[0] for seed in (0, 1))
    assert one.shape != other.shape or not torch.equal(one, other)
    first, again = (next(corpus.held_out("test", 4)).inputs[0] for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape[1] > int(corpus.lengths["test"].min())  # silence around


@pytest.mark.usefixtures("quick")
def test_how_many_are_trained_on_may_be_said() -> None:
    assert opened("spoken-digits:words?train=20").sizes == {"train": 20, "validation": 10, "test": 16}
    for text, words in (
        ("spoken-digits:letters", "'letters' is not one of words, strings, frames"),
        ("spoken-digits:strings?train=9", "train='9' is no number of 10 to 60"),
        ("spoken-digits:strings?train=many", "train='many' is no number of 10 to 60"),
        ("spoken-digits:strings?test=20", "options are train"),
    ):
        with pytest.raises(DataError, match=words):
            opened(text)


@pytest.mark.usefixtures("quick")
def test_who_is_stopped_while_it_speaks_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(utterance: Utterance) -> torch.Tensor:
        raise KeyboardInterrupt

    monkeypatch.setattr(espeak, "speak", stopped)
    with pytest.raises(KeyboardInterrupt):
        opened()
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(shutil.which(espeak.PROGRAM) is None, reason=f"{espeak.PROGRAM} is not installed")
def test_espeak_speaks_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    monkeypatch.setattr(spoken_digits, "SIZES", {"words": (4, 1, 2)})
    monkeypatch.setattr(spoken_digits, "TRAIN", (1, 60))
    corpus = opened("spoken-digits")
    (x, lengths), target = corpus.batch(torch.arange(4), torch.Generator().manual_seed(0))
    assert x.isfinite().all()
    assert int(lengths.min()) > 3_000
    assert target.tolist() == [0, 1, 2, 3]
