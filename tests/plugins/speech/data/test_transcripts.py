"""Sounds with transcripts: what a model reads and writes, how it is judged, and what it cannot learn."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import models, normalizers
from torch import Tensor, nn

import zoo
from zoo.core.generation.loop import Generated
from zoo.data.batches.batched_corpus import DatasetInfo
from zoo.data.corpus import Corpus
from zoo.errors import ConfigError
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.data.audio_store import Joined
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus, as_written, fault, samples_for, tokenizer_for

TEXTS = ["one two", "two", "three one one"]
WORDS = choose_tokenizer("word", "", TEXTS)  # one 4, three 5, two 6
LENGTHS = torch.tensor([9_000, 5_000, 7_000])


def corpus(
    tokenizer: Tokenizer = WORDS, name: str = "speech-tiny", spec: zoo.ModelSpec | None = None
) -> TranscriptsCorpus:
    parts = ("train", "validation", "test")
    sounds = Joined(torch.ones(int(LENGTHS.sum()), dtype=torch.int16), LENGTHS)
    return TranscriptsCorpus(
        DatasetInfo("made", "Made.", "0"),
        spec or zoo.info(name),
        tokenizer,
        dict.fromkeys(parts, sounds),
        dict.fromkeys(parts, TEXTS),
    )


class Writes(nn.Module):
    """Writes for a sound what is said for its length."""

    def __init__(self, texts: dict[int, str]) -> None:
        super().__init__()
        self.texts = texts
        self.asked: list[int] = []

    def generate(self, sounds: Tensor, lengths: Tensor, max_len: int) -> Generated:
        assert not self.training
        self.asked.append(max_len)
        rows = [WORDS.rows([self.texts[int(n)]])[0] if self.texts[int(n)] else [] for n in lengths]
        ids = torch.zeros(len(rows), 1, 9, dtype=torch.long)
        for row, found in zip(ids, rows, strict=True):
            row[0, : len(found) + 1] = torch.tensor([*found, WORDS.eos])
        counts = torch.tensor([[len(row)] for row in rows])
        return Generated(ids, counts, torch.zeros(len(rows), 1))


def test_it_is_a_corpus_that_asks_for_texts() -> None:
    assert isinstance(corpus(), Corpus)
    assert corpus().overrides() == {"vocab_size": 7, "task": "generate"}


def test_a_batch_holds_sounds_lengths_and_the_text_shifted_by_one() -> None:
    (x, lengths, shifted), target = corpus().batch(torch.tensor([0, 2]), torch.Generator())
    assert x.shape == (2, 9_000)
    assert lengths.tolist() == [9_000, 7_000]
    assert shifted.tolist() == [[1, 4, 6, 0], [1, 5, 4, 4]]
    assert target.tolist() == [[4, 6, 2, -100], [5, 4, 4, 2]]


def test_rates_of_errors_are_of_all_that_was_said() -> None:
    model = Writes({9_000: "one two", 5_000: "one", 7_000: "three one"}).train()
    scores = corpus().score(model, "test", 2)
    assert next(iter(scores)) == TranscriptsCorpus.metric == "-word error rate"
    assert scores["-word error rate"] == pytest.approx(-2 / 6)
    assert scores["-character error rate"] == pytest.approx(-(3 + 4) / 23)  # `one` for `two`, ` one` missing
    assert scores["exact match"] == pytest.approx(1 / 3)
    assert model.training
    assert model.asked == [10, 10]
    assert tuple(scores) == corpus().metrics(model)
    assert TranscriptsCorpus.smooth == ("-character error rate",)


def test_a_model_that_writes_nothing_is_wrong_everywhere() -> None:
    scores = corpus().score(Writes({9_000: "", 5_000: "", 7_000: ""}), "test", 4)
    assert scores == {"-word error rate": -1.0, "-character error rate": -1.0, "exact match": 0.0}


def test_the_vocabulary_is_saved(tmp_path: Path) -> None:
    corpus().save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    assert Tokenizer.load(tmp_path / "tokenizer.json").rows(["two"]) == [[6]]


def test_a_vocabulary_with_other_symbols_is_refused() -> None:
    backend = tokenizers.Tokenizer(models.WordLevel({"a": 0, "<pad>": 1, "<s>": 2, "</s>": 3}, unk_token="a"))
    with pytest.raises(ConfigError, match="with padding, begin and end at 1, 2, 3: models of speech expect 0, 1, 2"):
        corpus(Tokenizer(backend))


def test_a_model_that_reads_texts_is_refused() -> None:
    with pytest.raises(ConfigError, match="'made' are sounds to be written down, and 'speech-synthesis-tiny' reads no"):
        corpus(name="speech-synthesis-tiny")


@pytest.mark.parametrize("row", [[4], [4, 5], [4, 4], [4, 4, 4, 5]])
def test_samples_are_as_many_as_the_vectors_of_a_model_need(row: list[int]) -> None:
    needed = len(row) + sum(row[i] == row[i + 1] for i in range(len(row) - 1))
    least = samples_for(row)
    assert FrameStem(SoundConfig(dim=8)).count(torch.tensor([least, least - 1])).tolist() == [needed, needed - 1]


@pytest.mark.parametrize(
    ("text", "samples", "kind", "words"),
    [
        ("one two", 9_000, "word", ""),
        (" ", 9_000, "word", "its transcript is empty"),
        ("one eleven zero one", 9_000, "word", "not in the vocabulary: 'eleven', 'zero'"),
        ("one </s>", 9_000, "word", "not in the vocabulary: '</s>'"),
        ("one Ünn", 9_000, "char", "not in the vocabulary: 'Ü'"),
        ("one one", 1_679, "word", "2 tokens need 3 vectors, 0.10 s have 2: CTC writes one with each 40 ms"),
        ("one one", 1_680, "word", ""),
        ("one two", 1_040, "word", ""),
        ("Ünn 3", 99_000, "byte", ""),
    ],
)
def test_what_cannot_be_learned_is_told(text: str, samples: int, kind: str, words: str) -> None:
    tokenizer = choose_tokenizer(kind, "", TEXTS)
    found = fault(text, samples, tokenizer, aligned=True)
    assert found.startswith(words) if words else not found


def test_what_is_unknown_is_told_also_where_a_space_has_no_token() -> None:
    pieces = choose_tokenizer("wordpiece:8", "", ["no"])  # `n`, `o` and `##o` behind five symbols
    assert not fault("no no", 9_000, pieces, aligned=True)
    assert fault("no Ün", 9_000, pieces, aligned=True) == "not in the vocabulary: 'Ü'"
    assert fault("no on", 9_000, pieces, aligned=True) == "not in the vocabulary: 'on'"


def test_a_text_that_is_emptied_has_no_tokens() -> None:
    backend = choose_tokenizer("word", "", TEXTS).backend
    backend.normalizer = normalizers.Replace("\N{ZERO WIDTH SPACE}", "")
    for text in ("\N{ZERO WIDTH SPACE}", "\N{ZERO WIDTH SPACE} \N{ZERO WIDTH SPACE}"):
        assert "has no tokens" in fault(text, 9_000, Tokenizer(backend), aligned=True)
    found = fault("one \N{ZERO WIDTH SPACE} four", 9_000, Tokenizer(backend), aligned=True)
    assert found == "not in the vocabulary: 'four'"


def test_without_alignment_no_text_is_too_long() -> None:
    assert not fault("one one", 400, WORDS, aligned=False)


@pytest.mark.parametrize("by", ["ctc", "attention"])
def test_a_model_learns_and_is_judged_on_it(by: str) -> None:
    torch.manual_seed(0)
    made = corpus()
    sizes: dict[str, Any] = {"depth": 1, "dim": 24, "num_heads": 3, "mlp_dim": 48}
    model: Any = zoo.create("speech-tiny", by=by, **sizes, **made.overrides())
    batch = made.batch(torch.arange(3), torch.Generator())
    loss = model.training_loss(batch.inputs, batch.target, 0.0)
    loss.backward()
    assert loss.isfinite()
    assert -9 <= made.score(model, "test", 2)["-word error rate"] <= 0


def test_labels_of_the_weights_are_the_vocabulary_where_none_is_named() -> None:
    spec = zoo.info("wav2vec2-base").with_config(labels=["|", "-", *"ENOTW"], blank=1)
    labels = tokenizer_for("", "word", TEXTS, spec)
    assert labels.labels == spec.config["labels"]
    assert not tokenizer_for("char", "word", TEXTS, spec).labels
    made = corpus(labels, spec=spec)
    assert made.overrides() == {"vocab_size": 7, "task": "generate", "labels": spec.config["labels"], "blank": 1}
    assert as_written(made.texts["train"][:1], made.tokenizer) == ["ONE TWO"]
    assert corpus(spec=spec).overrides() == {"vocab_size": 7, "task": "generate", "labels": [], "blank": 0}
    with pytest.raises(ConfigError, match=r"without begin and end, for by='joint' .* write tokenizer='char'"):
        corpus(labels, spec=spec.with_config(by="joint"))


def test_vectors_of_samples_are_twice_as_many() -> None:
    row = WORDS.rows(["one one"])[0]
    assert samples_for(row, 20) == 400 + 2 * 320
    assert not fault("one one", samples_for(row, 20), WORDS, True, 20)
    assert "CTC writes one with each 20 ms" in fault("one one", samples_for(row, 20) - 1, WORDS, True, 20)
