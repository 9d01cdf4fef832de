"""The user's recordings as a corpus: labels or transcripts, parts, and what is left out with a note."""

import json
import os
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data import Workers, read_ahead
from zoo.errors import ConfigError, DataError
from zoo.plugins.speech.data.audio_store import Files
from zoo.plugins.speech.data.corpus import ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.recordings import open_recordings
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus

Write = Callable[..., Path]
Listed = Callable[[Sequence[dict[str, Any]]], str]
CLIPS = zoo.info("speech-tiny")
WRITES = CLIPS.with_config(by="ctc")


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


@pytest.fixture
def listed(write: Write, tmp_path: Path) -> Listed:
    """Write a manifest and a sound for each of its entries that has a `seconds`."""

    def make(entries: Sequence[dict[str, Any]]) -> str:
        lines = []
        for number, entry in enumerate(entries):
            seconds = entry.pop("seconds", 0.3)
            path = write(f"{number}.wav", seconds=seconds, subtype="FLOAT")
            lines.append(json.dumps({"audio": path.name, **entry}))
        (tmp_path / "manifest.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return str(tmp_path)

    return make


def texts(corpus: SoundCorpus) -> Iterator[str]:
    assert isinstance(corpus, TranscriptsCorpus)
    for part in corpus.texts.values():
        yield from part


def test_labels_make_clips(listed: Listed) -> None:
    corpus = open_recordings(listed([{"label": "yes" if n % 2 else "no"} for n in range(20)]), CLIPS, 0, "")
    assert isinstance(corpus, ClipsCorpus)
    assert sum(corpus.sizes.values()) == 20
    assert all(size >= 2 for size in corpus.sizes.values())  # one of each class
    assert corpus.labels == ["no", "yes"]
    assert corpus.overrides() == {"num_classes": 2}


def test_class_folders_make_clips(write: Write, tmp_path: Path) -> None:
    for label in ("yes", "no"):
        (tmp_path / label).mkdir()
        for number in range(10):
            write(f"{label}/{number}.flac", seconds=0.2 + 0.01 * number, subtype="PCM_16")
    corpus = open_recordings(str(tmp_path), CLIPS, 0, "")
    assert isinstance(corpus, ClipsCorpus)
    (batch,) = corpus.held_out("test", 20)
    sounds, lengths = batch.inputs
    assert sounds.shape == (corpus.sizes["test"], int(lengths.max()))
    assert set(lengths.tolist()) <= {3_200 + 160 * number for number in range(10)}
    assert set(batch.target.tolist()) <= {0, 1}


def test_transcripts_make_transcripts_and_white_space_is_one_space(listed: Listed) -> None:
    corpus = open_recordings(listed([{"text": " ab \n c"} for _ in range(20)]), WRITES, 0, "")
    assert set(texts(corpus)) == {"ab c"}
    assert corpus.task == "generate"
    assert corpus.overrides() == {"vocab_size": 4 + len(" abc"), "task": "generate"}


def test_with_both_the_models_task_decides(listed: Listed) -> None:
    place = listed([{"text": "ab", "label": "yes" if n % 2 else "no"} for n in range(20)])
    assert isinstance(open_recordings(place, CLIPS, 0, ""), ClipsCorpus)
    writes = zoo.info("speech-synthesis-tiny")
    assert writes.task == "generate"
    with pytest.raises(ConfigError, match="are sounds to be written down, and 'speech-synthesis-tiny' reads no sounds"):
        open_recordings(place, writes, 0, "")


def test_some_with_a_text_and_some_with_a_label_are_refused(listed: Listed) -> None:
    place = listed([{"text": "a"}, {"label": "b"}, {"text": "c"}])
    with pytest.raises(DataError, match="of 3 recordings 2 have a 'text' and 1 a 'label'"):
        open_recordings(place, CLIPS, 0, "")


def test_parts_and_speakers_are_kept(listed: Listed) -> None:
    entries = [{"label": "ab"[n % 2], "split": ("train", "dev", "test")[n % 3]} for n in range(12)]
    assert open_recordings(listed(entries), CLIPS, 0, "").sizes == {"train": 4, "validation": 4, "test": 4}
    by_ten = [{"text": "abcdefghij"[n // 4], "speaker": str(n // 4)} for n in range(40)]
    corpus = open_recordings(listed(by_ten), WRITES, 0, "byte")
    assert isinstance(corpus, TranscriptsCorpus)
    assert {split: len(set(part)) for split, part in corpus.texts.items()} == {"train": 8, "validation": 1, "test": 1}
    assert set(corpus.texts["test"]).isdisjoint(corpus.texts["train"])


def test_what_cannot_be_learned_is_named_skipped_and_counted(listed: Listed, tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"text": "ab", "seconds": 0.02},
        {"text": "abba" * 20},
        {"text": "  "},
        {"text": "a\u00e9", "split": "test"},
    ]
    good = [{"text": "ab", "split": ("train", "dev", "test")[n % 3]} for n in range(12)]
    place = listed([*bad, *good])
    (tmp_path / "15.wav").write_bytes(b"RIFF")
    words = [
        "5 of 16 recordings are skipped:\n",
        "0.wav: .*shorter than one frame",
        "15.wav: .*cannot be read",
        "1.wav: 80 tokens need 119 vectors, 0.30 s have 7: CTC writes one with each 40 ms",
        "2.wav: its transcript is empty",
        "3.wav: not in the vocabulary: '\u00e9'",
    ]
    with pytest.warns(UserWarning, match="skipped") as caught:
        corpus = open_recordings(place, WRITES, 0, "")
    (warning,) = caught
    for word in words:
        assert re.search(word, str(warning.message)), word
    assert set(texts(corpus)) == {"ab"}
    assert sum(corpus.sizes.values()) == 11


def test_a_decoder_with_attention_may_write_more_than_one_token_with_each_vector(listed: Listed) -> None:
    place = listed([{"text": "abba" * 20} for _ in range(9)])
    assert sum(open_recordings(place, WRITES.with_config(by="attention"), 0, "").sizes.values()) == 9
    with pytest.raises(DataError, match=r"nothing is left for train\. 9 of 9 recordings are skipped"):
        open_recordings(place, WRITES, 0, "")


def test_nothing_that_can_be_read_is_an_error(listed: Listed) -> None:
    place = listed([{"label": "a", "seconds": 0.01}, {"label": "b", "seconds": 0.02}])
    with pytest.raises(DataError, match=r"none of the recordings can be read\. 2 of 2 recordings are skipped"):
        open_recordings(place, CLIPS, 0, "")


def test_a_label_of_the_validation_that_is_not_trained_is_an_error(listed: Listed) -> None:
    entries = [{"label": "ab"[n % 2], "split": ("train", "train", "val")[n % 3]} for n in range(12)]
    with pytest.raises(DataError, match="label c of validation are in no training example, which have a, b"):
        open_recordings(listed([*entries, {"label": "c", "split": "val"}]), CLIPS, 0, "")


def test_one_label_is_nothing_to_tell_apart(listed: Listed) -> None:
    with pytest.raises(DataError, match="at least 2 are needed"):
        open_recordings(listed([{"label": "a"} for _ in range(9)]), CLIPS, 0, "")


def test_sounds_are_played_at_other_speeds_in_training_only(listed: Listed) -> None:
    corpus = open_recordings(listed([{"label": "ab"[n % 2]} for n in range(20)]), CLIPS, 0, "")
    drawn = torch.Generator().manual_seed(0)
    _, lengths = corpus.batch(torch.arange(12), drawn).inputs
    assert {round(4_800 / length, 1) for length in lengths.tolist()} == {0.9, 1.0, 1.1}
    again = corpus.batch(torch.arange(12), torch.Generator().manual_seed(0)).inputs[1]
    assert torch.equal(lengths, again)
    assert all(set(batch.inputs[1].tolist()) == {4_800} for batch in corpus.held_out("test", 2))


def test_no_speed_makes_a_sound_too_short_for_its_transcript(listed: Listed) -> None:
    corpus = open_recordings(listed([{"text": "abcdefg", "seconds": 0.28} for _ in range(20)]), WRITES, 0, "")
    least = corpus.least("train", 0)
    assert 4_480 / 1.1 < least <= 4_480
    lengths = corpus.batch(torch.arange(12), torch.Generator().manual_seed(0)).inputs[1]
    assert int(lengths.min()) >= least
    assert int(lengths.max()) > 4_480


def test_a_tokenizer_may_be_named(listed: Listed) -> None:
    place = listed([{"text": "ab cd"} for _ in range(9)])
    assert open_recordings(place, WRITES, 0, "byte").overrides()["vocab_size"] == 260
    assert open_recordings(place, WRITES, 0, "word").overrides()["vocab_size"] == 6
    with pytest.raises(ConfigError, match="tokenizer='sylables' is not one of"):
        open_recordings(place, WRITES, 0, "sylables")


def half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flacs(write: Write, tmp_path: Path) -> str:
    """Write sounds of two labels in all parts; the header of a FLAC does not tell where it ends."""
    lines = []
    for part in ("train", "dev", "test"):
        for number in range(6):
            path = write(f"{part}{number}.flac", seconds=0.2 + 0.01 * number, subtype="PCM_16")
            lines.append(
                json.dumps({"audio": path.name, "label": "ab"[number % 2], "text": "ab"[number % 2], "split": part})
            )
    (tmp_path / "manifest.jsonl").write_text("\n".join(lines))
    return str(tmp_path)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("spec", [CLIPS.with_config(task="classify"), WRITES.with_config(task="generate")])
def test_a_sound_that_breaks_is_replaced_in_training_left_out_elsewhere_and_named(
    workers: int, spec: zoo.ModelSpec, write: Write, tmp_path: Path
) -> None:
    place = flacs(write, tmp_path)
    corpus = open_recordings(place, spec, 0, "")
    for part in ("train", "dev"):
        half(tmp_path / f"{part}2.flac")
    assert not corpus.notes
    with Workers(corpus, workers=workers):
        drawn = [(torch.tensor([1, 2]), torch.Generator().manual_seed(5)) for _ in range(2)]
        (broken,) = read_ahead(corpus.batch, drawn[:1])
        (wanted,) = read_ahead(corpus.batch, [(torch.tensor([1, 3]), drawn[1][1])])
        held = list(corpus.held_out("validation", 4))
    for one, other in zip((*broken.inputs, broken.target), (*wanted.inputs, wanted.target), strict=True):
        assert torch.equal(one, other)
    assert [len(batch.target) for batch in held] == [2, 3]
    (note,) = corpus.notes
    assert note.startswith("2 of 18 recordings are skipped:\n")
    assert "train2.flac: " in note
    assert "dev2.flac: " in note


def test_training_on_sounds_that_are_all_broken_is_an_error_and_a_trained_model_tells_of_the_broken(
    write: Write, tmp_path: Path
) -> None:
    corpus = open_recordings(flacs(write, tmp_path), CLIPS, 0, "")
    half(tmp_path / "train2.flac")
    half(tmp_path / "test2.flac")
    with pytest.warns(UserWarning, match=r"2 of 18 recordings are skipped:\n  .*train2.flac"):
        zoo.train("speech-tiny", corpus, steps=3, batch_size=6, dim=16, depth=1, num_heads=2, mlp_dim=16)
    again = open_recordings(str(tmp_path), CLIPS, 0, "")
    for number in range(6):
        (tmp_path / f"train{number}.flac").write_bytes(b"fLaC")
    with pytest.raises(DataError, match=r"none of the recordings to train on can be read\. 6 of 18 recordings"):
        again.batch(torch.arange(3), torch.Generator())


def test_a_recording_stays_in_its_part_when_others_come(write: Write, tmp_path: Path) -> None:
    def parts(numbers: Sequence[int]) -> dict[str, str]:
        lines = [json.dumps({"audio": f"{n}.wav", "text": "ab"[n % 2], "speaker": str(n // 2)}) for n in numbers]
        (tmp_path / "manifest.jsonl").write_text("\n".join(lines))
        corpus = open_recordings(str(tmp_path), WRITES, 0, "")
        return {
            Path(sounds.memory.files.name(row)).name: part
            for part, sounds in corpus.sounds.items()
            if isinstance(sounds, Files)
            for row in sounds.rows.tolist()
        }

    for number in range(80):
        write(f"{number}.wav")
    before = parts(range(0, 60))
    after = parts([*range(70, 80), *range(60)])
    assert {name: after[name] for name in before} == before
    assert len(set(before.values())) == 3
    assert all(after[f"{n}.wav"] == after[f"{n + 1}.wav"] for n in range(0, 60, 2))


def test_a_recording_that_is_replaced_by_one_as_long_is_another_data_set(listed: Listed, tmp_path: Path) -> None:
    place = listed([{"label": "ab"[n % 2]} for n in range(12)])
    before = open_recordings(place, CLIPS, 0, "").fingerprint
    assert open_recordings(place, CLIPS, 0, "").fingerprint == before
    content = (tmp_path / "3.wav").read_bytes()
    (tmp_path / "3.wav").write_bytes(content[:-4] + b"1234")
    os.utime(tmp_path / "3.wav", ns=(1, 1))
    assert open_recordings(place, CLIPS, 0, "").fingerprint != before


def test_a_process_that_is_started_gets_no_recordings_but_where_they_are(listed: Listed) -> None:
    entries = [{"label": "ab"[n % 2], "text": f"text {n}"} for n in range(300)]
    place = listed([{**entry, "seconds": 0.6} for entry in entries])
    for spec in (CLIPS.with_config(task="classify"), WRITES.with_config(task="generate")):
        corpus = open_recordings(place, spec, 0, "")
        sent = pickle.dumps(corpus)
        assert b"7.wav" not in sent
        assert b"text 7" not in sent
        one, other = (
            each.batch(torch.arange(4), torch.Generator().manual_seed(0)) for each in (corpus, pickle.loads(sent))
        )
        assert torch.equal(one.inputs[0], other.inputs[0])
