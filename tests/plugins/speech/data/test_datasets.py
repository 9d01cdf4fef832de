"""LibriSpeech and Speech Commands, from folders of the right layout."""

from collections.abc import Callable
from pathlib import Path

import pytest

import zoo
from zoo.errors import DataError
from zoo.plugins.speech.data.corpus import ClipsCorpus
from zoo.plugins.speech.data.datasets import open_librispeech, open_speech_commands
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus

Write = Callable[..., Path]
SPEC = zoo.info("speech-tiny")


@pytest.fixture
def libri(write: Write, tmp_path: Path) -> Path:
    """Write two speakers for each of two parts."""
    for subset in ("train-clean-100", "dev-clean"):
        for speaker in (19, 26):
            chapter = Path("LibriSpeech", subset, str(speaker), "198")
            (tmp_path / chapter).mkdir(parents=True)
            lines = [f"{speaker}-198-000{number} A CAT'S {'NOSE ' * number}".strip() for number in range(3)]
            (tmp_path / chapter / f"{speaker}-198.trans.txt").write_text("\n".join(lines))
            for number in range(3):
                write(str(chapter / f"{speaker}-198-000{number}.flac"), seconds=1.2)
    return tmp_path


@pytest.fixture
def commands(write: Write, tmp_path: Path) -> Path:
    """Write two words by four speakers, of which one each is for validation and test."""
    folder = Path("SpeechCommands", "speech_commands_v0.02")
    for word in ("yes", "no", "_background_noise_"):
        (tmp_path / folder / word).mkdir(parents=True)
        for speaker in "abcd":
            write(str(folder / word / f"{speaker}_nohash_0.wav"))
    for name, speaker in (("validation_list.txt", "a"), ("testing_list.txt", "b")):
        (tmp_path / folder / name).write_text(f"yes/{speaker}_nohash_0.wav\nno/{speaker}_nohash_0.wav\n")
    return tmp_path


@pytest.mark.parametrize("inside", ["", "LibriSpeech", "train-clean-100", "LibriSpeech/train-clean-100"])
def test_librispeech_has_transcripts_in_small_letters_and_its_own_validation(libri: Path, inside: str) -> None:
    corpus = open_librispeech(str(libri / inside), SPEC, 0, "")
    assert isinstance(corpus, TranscriptsCorpus)
    assert corpus.sizes == {"train": 3, "validation": 6, "test": 3}  # a speaker is held out for the test
    assert sorted(corpus.texts["validation"])[::2] == ["a cat's", "a cat's nose", "a cat's nose nose"]
    assert corpus.name == "librispeech/train-clean-100"
    assert int(corpus.lengths["train"][0]) == 19_200


def test_librispeech_that_is_not_there_is_told_where_to_get(tmp_path: Path) -> None:
    words = r"there is no folder '.*train-clean-360'; get train-clean-360.tar.gz, and .* from www.openslr.org/12"
    with pytest.raises(DataError, match=words):
        open_librispeech(str(tmp_path / "train-clean-360"), SPEC, 0, "")


def test_librispeech_with_a_sound_that_has_no_transcript_is_refused(libri: Path, write: Write) -> None:
    write("LibriSpeech/train-clean-100/19/198/19-198-0009.flac")
    with pytest.raises(DataError, match="19-198-0009; unpack it again"):
        open_librispeech(str(libri), SPEC, 0, "")


@pytest.mark.parametrize("inside", ["", "SpeechCommands", "SpeechCommands/speech_commands_v0.02"])
def test_speech_commands_have_labels_and_their_own_parts(commands: Path, inside: str) -> None:
    corpus = open_speech_commands(str(commands / inside), SPEC, 0, "")
    assert isinstance(corpus, ClipsCorpus)
    assert corpus.labels == ["no", "yes"]
    assert corpus.sizes == {"train": 4, "validation": 2, "test": 2}
    assert sorted(corpus.classes["train"].tolist()) == [0, 0, 1, 1]


def test_speech_commands_that_are_not_there_are_told_where_to_get(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"get download\.tensorflow\.org/data/speech_commands_v0\.02\.tar\.gz"):
        open_speech_commands(str(tmp_path), SPEC, 0, "")
