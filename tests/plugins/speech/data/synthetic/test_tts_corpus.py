"""Texts with their sounds: what a model that speaks is taught, and how it is judged."""

from pathlib import Path

import pytest
import torch

import zoo
from zoo.core import ConfigError
from zoo.core.losses.loss import IGNORED
from zoo.data.batches.batched_corpus import DatasetInfo
from zoo.data.corpus import open_corpus
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.data.audio_store import Joined
from zoo.plugins.speech.data.synthetic import espeak, tts_corpus
from zoo.plugins.speech.data.synthetic.tts_corpus import SpeakingCorpus
from zoo.plugins.speech.data.synthetic.voices import Utterance
from zoo.plugins.speech.models.text_to_speech import DEVIATION, MEAN, Synthesiser

TEXTS = {"train": ["one", "seven"], "validation": ["two"], "test": ["ten"]}
SAMPLES = {"train": [2_000, 5_300], "validation": [3_000], "test": [2_500]}


def corpus() -> SpeakingCorpus:
    generator = torch.Generator().manual_seed(0)
    sounds = {}
    for split, lengths in SAMPLES.items():
        flat = (3_000 * torch.randn(sum(lengths), generator=generator)).to(torch.int16)
        sounds[split] = Joined(flat, torch.tensor(lengths))
    spec = zoo.info("speech-synthesis-tiny").with_config(bands=6, reduction=2)
    return SpeakingCorpus(DatasetInfo("said", "Said.", "0"), spec, Tokenizer.byte_level(), sounds, TEXTS)


def model() -> Synthesiser:
    torch.manual_seed(0)
    return Synthesiser(dim=16, depth=1, num_heads=2, mlp_dim=16, bands=6, reduction=2, max_steps=20)


def test_a_batch_holds_texts_with_an_end_and_the_steps_of_their_sounds() -> None:
    data = corpus()
    (ids, lengths, steps), target = data.examples("train", [0, 1], None)
    assert ids[0].tolist() == [*(ord(letter) + 4 for letter in "one"), 2, 0, 0]
    assert lengths.tolist() == [4, 6]
    assert steps.shape == (2, 16, 2, 6)
    sound = data.sounds["train"][1][None]
    torch.testing.assert_close(steps[1, :15].flatten(0, 1), (LogMel(6)(sound)[0, :30] - MEAN) / DEVIATION)
    assert target.tolist() == [[0] * 5 + [1] + [IGNORED] * 10, [0] * 15 + [1]]


def test_frames_and_lengths_are_judged() -> None:
    data, judged = corpus(), model()
    with torch.no_grad():
        judged.head.linear.weight.zero_()
        judged.head.linear.bias.zero_()
        judged.head.linear.bias[-1] = 1  # it ends at once, and writes the mean
    scores = data.score(judged, "test", 4)
    (_, _, steps), _ = data.examples("test", [0], None)
    assert tuple(scores) == data.metrics(judged) == ("-frame distance", "length error")
    assert scores["-frame distance"] == pytest.approx(-float(steps.abs().mean()), rel=1e-5)
    assert scores["length error"] == pytest.approx(1 - 1 / steps.shape[1])


def test_what_is_trained_reads_texts_by_itself(tmp_path: Path) -> None:
    data = corpus()
    assert data.overrides() == {"vocab_size": 260}
    data.save(tmp_path)
    saved = Tokenizer.load(tmp_path / "tokenizer.json")
    assert saved.frame is not None
    assert saved.rows(["one"], saved.frame) == [data.rows["train"][0]]


def test_one_voice_says_what_a_model_that_speaks_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Utterance] = []

    def hum(utterance: Utterance) -> torch.Tensor:
        said.append(utterance)
        return torch.linspace(-1, 1, 100 * len(utterance.text))

    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    monkeypatch.setattr(espeak, "speak", hum)
    monkeypatch.setattr(espeak, "version", lambda: "1.51")
    monkeypatch.setattr(tts_corpus, "SIZES", {"strings": (20, 4, 4)})
    data = open_corpus("one-voice", zoo.info("speech-synthesis-tiny"))
    assert isinstance(data, SpeakingCorpus)
    assert data.sizes == {"train": 20, "validation": 4, "test": 4}
    assert {each[1:] for each in said} == {tts_corpus.VOICE}
    (ids, _, steps), target = data.examples("train", [3], None)
    assert data.tokenizer.decode_batch([ids[0, :-1].tolist()]) == [said[3].text]
    assert steps.shape[:2] == target.shape == (1, -(-((100 * len(said[3].text) - 400) // 160 + 1) // 4))
    with pytest.raises(ConfigError, match="'one-voice' is for models that speak, and 'speech-tiny' does not"):
        open_corpus("one-voice", zoo.info("speech-tiny"))
