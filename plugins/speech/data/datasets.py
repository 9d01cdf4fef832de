"""Well-known sets of recordings, read through torchaudio from where they were unpacked; nothing is downloaded."""

from pathlib import Path

from zoo import DataError, ModelSpec
from zoo.plugins.speech.data.corpus import SoundCorpus
from zoo.plugins.speech.data.manifest import Recording
from zoo.plugins.speech.data.recordings import corpus_of

LIBRISPEECH = "LibriSpeech"
TRAINING = ("train-clean-100", "train-clean-360", "train-other-500")
HELD_OUT = {"validation": ("dev-clean", "dev-other"), "test": ("test-clean", "test-other")}
COMMANDS = "SpeechCommands"
VERSIONS = ("speech_commands_v0.02", "speech_commands_v0.01")
SUBSETS = {"training": "train", "validation": "validation", "testing": "test"}
"""Parts of Speech Commands as torchaudio calls them, and as we do."""


def open_librispeech(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Open LibriSpeech: `DIR`, or `DIR/train-clean-360` to choose what is trained on.

    Validation and test are `dev` and `test` of the same kind, `clean` or `other`; where they are not unpacked, speakers
    are held out.

    Raises:
        DataError: If nothing is unpacked there.
    """
    path = Path(argument).expanduser()
    chosen, path = (path.name, path.parent) if path.name in TRAINING else ("", path)
    path = path if path.name == LIBRISPEECH else path / LIBRISPEECH
    subset = chosen or next((name for name in TRAINING if (path / name).is_dir()), TRAINING[0])
    if not (path / subset).is_dir():
        raise DataError(
            f"librispeech:{argument}: there is no folder {str(path / subset)!r}; get {subset}.tar.gz, and "
            f"dev-clean.tar.gz and test-clean.tar.gz, from www.openslr.org/12, unpack them in {str(path.parent)!r}"
        )
    found = _librispeech(path, subset, "train")
    for part, names in HELD_OUT.items():
        name = names["other" in subset]
        if (path / name).is_dir():
            found += _librispeech(path, name, part)
    return corpus_of(f"librispeech/{subset}", found, spec, seed, tokenizer)


def _librispeech(path: Path, subset: str, part: str) -> list[Recording]:
    from torchaudio.datasets import LIBRISPEECH as Dataset  # noqa: N811  a class that is written in capitals

    dataset = Dataset(path.parent, subset, path.name)
    found = []
    for place in range(len(dataset)):
        try:
            file, _, text, speaker, *_ = dataset.get_metadata(place)
        except (OSError, ValueError) as error:
            raise DataError(f"{path / subset}: {error}; unpack it again") from error
        found.append(Recording(path / file, text=text.lower(), part=part, speaker=str(speaker)))
    if not found:
        raise DataError(f"{str(path / subset)!r} holds no sound SPEAKER/CHAPTER/*.flac; unpack it again")
    return found


def open_speech_commands(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Open Speech Commands, arXiv:1804.03209, with its own validation and test.

    Raises:
        DataError: If it is not unpacked there.
    """
    from torchaudio.datasets import SPEECHCOMMANDS

    path = Path(argument).expanduser()
    places = [path, *(path / version for version in VERSIONS), *(path / COMMANDS / version for version in VERSIONS)]
    folder = next((place for place in places if (place / "testing_list.txt").is_file()), None)
    if folder is None or folder.name not in VERSIONS:
        raise DataError(
            f"speech-commands:{argument}: there is no folder {VERSIONS[0]!r} with a testing_list.txt; get "
            f"download.tensorflow.org/data/{VERSIONS[0]}.tar.gz and unpack it in {str(path / COMMANDS / VERSIONS[0])!r}"
        )
    archive = folder.parent
    found = []
    for subset, part in SUBSETS.items():
        dataset = SPEECHCOMMANDS(archive.parent, folder.name, archive.name, subset=subset)
        for place in range(len(dataset)):
            file, _, label, speaker, _ = dataset.get_metadata(place)
            found.append(Recording(archive / file, label=label, part=part, speaker=speaker))
    return corpus_of("speech-commands", found, spec, seed, tokenizer)
