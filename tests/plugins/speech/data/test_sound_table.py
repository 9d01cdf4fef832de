import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo import DataError
from zoo.data import Workers, read_ahead
from zoo.data.corpus import open_corpus
from zoo.plugins.speech.data import sound_table
from zoo.plugins.speech.data.audio_store import Files
from zoo.plugins.speech.data.corpus import ClipsCorpus
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus
from zoo.plugins.speech.io.preprocess import Preprocess

CLASSIFIER = zoo.info("speech-tiny")
RECOGNISER = CLASSIFIER.with_config(task="generate", by="ctc")
COUNT = 40


def wav(number: int, kind: str = "WAV") -> bytes:
    import soundfile

    file = io.BytesIO()
    noise = np.random.default_rng(number).normal(0, 0.1, 5000 + 100 * number)
    soundfile.write(file, noise, 16_000, format=kind)
    return file.getvalue()


@pytest.fixture
def write(tmp_path: Path, offline: None) -> Any:
    """Write sounds and other columns as Parquet, with the type of `datasets` for sounds."""
    import datasets

    def written(sounds: Sequence[bytes], **columns: Any) -> str:
        cells = [{"bytes": sound, "path": f"{place}.wav"} for place, sound in enumerate(sounds)]
        data = datasets.Dataset.from_dict({"audio": cells, **columns})
        data.cast_column("audio", datasets.Audio(decode=False)).to_parquet(tmp_path / "a.parquet")
        return f"parquet:{tmp_path / 'a.parquet'}"

    return written


def test_sounds_have_their_labels_or_their_transcripts(write: Any) -> None:
    labels = ["ab"[number % 2] for number in range(COUNT)]
    data = write([wav(number) for number in range(COUNT)], label=labels, text=["ab cd"] * COUNT)
    clips, transcripts = open_corpus(data, CLASSIFIER), open_corpus(data, RECOGNISER)
    assert isinstance(clips, ClipsCorpus)
    assert isinstance(transcripts, TranscriptsCorpus)
    assert sum(clips.sizes.values()) == sum(transcripts.sizes.values()) == COUNT
    for split, part in clips.sounds.items():
        for place in range(len(part.lengths)):
            number = (len(part[place]) - 5000) // 100
            assert len(part[place]) == part.lengths[place]
            assert clips.labels[int(clips.classes[split][place])] == labels[number]
            wanted = torch.from_numpy(np.random.default_rng(number).normal(0, 0.1, 5000 + 100 * number))
            assert torch.allclose(part[place].double(), wanted, atol=1e-4)


def test_the_same_sounds_are_read_from_files_that_a_csv_names(write: Any, tmp_path: Path) -> None:
    labels = ["ab"[number % 2] for number in range(COUNT)]
    one = open_corpus(write([wav(number) for number in range(COUNT)], label=labels), CLASSIFIER)
    for number in range(COUNT):
        (tmp_path / f"{number}.wav").write_bytes(wav(number))
    rows = "".join(f"{number}.wav,{label}\n" for number, label in enumerate(labels))
    (tmp_path / "a.csv").write_text(f"path,label\n{rows}")
    other = open_corpus(f"csv:{tmp_path / 'a.csv'}", CLASSIFIER)
    assert one.sizes == other.sizes
    for a, b in zip(one.held_out("test", 4), other.held_out("test", 4), strict=True):
        assert torch.equal(a.inputs[0], b.inputs[0])
        assert torch.equal(a.target, b.target)


def test_one_speaker_is_in_one_part(write: Any) -> None:
    speakers = [f"s{number // 4}" for number in range(COUNT)]
    corpus = open_corpus(
        write([wav(number) for number in range(COUNT)], text=["a"] * COUNT, speaker=speakers), RECOGNISER
    )
    assert isinstance(corpus, TranscriptsCorpus)
    found = [{speakers[int(row)] for row in part.rows} for part in corpus.sounds.values()]  # type: ignore[attr-defined]
    assert sum(map(len, found)) == len(set.union(*found)) == COUNT // 4


def test_what_cannot_be_read_or_learned_is_left_out_named_and_counted(write: Any) -> None:
    sounds = [wav(number) for number in range(COUNT)]
    sounds[3], sounds[5] = b"no sound", wav(5, "OGG")[:-200]
    texts = ["ab"] * COUNT
    texts[7] = "ab" * 500
    with pytest.warns(UserWarning, match=r"3 of 40 recordings are skipped:") as told:
        corpus = open_corpus(write(sounds, text=texts), RECOGNISER)
    assert sum(corpus.sizes.values()) == COUNT - 3
    lines = str(told[0].message).splitlines()
    assert ["row 3 (3.wav)" in lines[1], "row 5 (5.wav)" in lines[2], "row 7 (7.wav)" in lines[3]] == [True] * 3
    assert "truncated" in lines[2]


def test_headers_are_read_once(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write([wav(number) for number in range(COUNT)], label=["a", "b"] * (COUNT // 2))
    before = open_corpus(data, CLASSIFIER)
    monkeypatch.setattr(sound_table, "measure_audio", lambda *given: pytest.fail("is read again"))
    after = open_corpus(data, CLASSIFIER)
    assert after.fingerprint == before.fingerprint


def test_samples_are_read_when_they_are_needed_and_shared_by_workers(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write([wav(number) for number in range(COUNT)], label=["a", "b"] * (COUNT // 2))
    with monkeypatch.context() as patch:
        patch.setattr(Preprocess, "samples", lambda *given: pytest.fail("is decoded"))
        corpus = open_corpus(data, CLASSIFIER)
    train = corpus.sounds["train"]  # type: ignore[attr-defined]
    assert isinstance(train, Files)
    assert not train.memory.held(train.rows).any()
    with Workers(corpus, workers=1):
        list(read_ahead(corpus.batch, [(torch.arange(3), torch.Generator().manual_seed(0))]))
    assert train.memory.held(train.rows).tolist() == [place < 3 for place in range(len(train.rows))]


def test_a_sound_that_turns_out_to_be_broken_is_replaced_and_named(write: Any) -> None:
    sounds = [wav(number, "FLAC") for number in range(COUNT)]
    sounds[3] = sounds[3][: len(sounds[3]) // 2]  # the header of a FLAC does not tell where it ends
    corpus = open_corpus(write(sounds, label=["a", "b"] * (COUNT // 2)), CLASSIFIER)
    for split in ("validation", "test"):
        list(corpus.held_out(split, 4))
    for place in range(corpus.sizes["train"]):
        corpus.batch(torch.tensor([place]), torch.Generator().manual_seed(0))
    (note,) = corpus.notes  # type: ignore[attr-defined]
    assert note.startswith("1 of 40 recordings are skipped:")
    assert "row 3 (3.wav)" in note


def test_labels_that_are_fractions_and_columns_that_lack_are_named(parquet: Any) -> None:
    path = parquet("a.parquet", audio=[wav(0)] * 4, label=[0.5] * 4)
    with pytest.raises(DataError, match=r"columns audio \(bytes\), label \(number\): write \?text=COLUMN"):
        open_corpus(f"parquet:{path}", CLASSIFIER)
    with pytest.raises(DataError, match=r"'label' holds number, and label is class or integer or text"):
        open_corpus(f"parquet:{path}?label=label", CLASSIFIER)


def test_a_worker_gets_no_sounds(write: Any) -> None:
    corpus = open_corpus(write([wav(number) for number in range(COUNT)], label=["a", "b"] * (COUNT // 2)), CLASSIFIER)
    sent = pickle.dumps(corpus)
    assert len(sent) < 20_000
    one, other = (
        each.batch(torch.arange(4), torch.Generator().manual_seed(0)) for each in (corpus, pickle.loads(sent))
    )
    assert torch.equal(one.inputs[0], other.inputs[0])
