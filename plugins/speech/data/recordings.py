"""The user's recordings for `zoo train`: the source `recordings:DIR`, and corpora of any list of recordings."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, Skipped, by_hash, fingerprint, hash_names, list_skipped, names_of
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.data.audio_store import AudioIndex, Files, SharedSounds, index_audio
from zoo.plugins.speech.data.augmentation import faster_or_slower
from zoo.plugins.speech.data.corpus import Augmentation, ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.manifest import Recording, list_recordings
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus, fault, tokenizer_for
from zoo.plugins.speech.io.preprocess import RATE

AUGMENTATION = Augmentation(training=faster_or_slower)
"""Other speeds, in training."""
DEFAULT_TOKENIZER = "char"
"""The characters of the training's transcripts."""


def open_recordings(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Open a folder of class folders, or a manifest."""
    path = Path(argument).expanduser()
    return corpus_of(path.name, list_recordings(path), spec, seed, tokenizer)


def corpus_of(name: str, recordings: Sequence[Recording], spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Make a corpus of what is listed: of transcripts, or of clips with labels.

    The header of every file is read; its samples are read when they are needed. What cannot be read or learned is left
    out, with a warning that counts and names it.

    Args:
        name: of the data.
        recordings: all with a transcript, or all with a label; with both, the model's task decides.
        spec: of the model.
        seed: splits what is not split.
        tokenizer: of transcripts; if empty the labels of the model's weights, or their characters.

    Raises:
        DataError: If nothing is left, or some recordings have a transcript and others a label.
    """
    wants_text = _wants_text(name, recordings, spec)
    index = index_audio([each.path for each in recordings])
    skipped = [Skipped(str(path), why) for path, why in index.skipped.items()]
    good = [each for each in recordings if each.path in index.lengths]
    _check_not_empty(name, good, skipped, len(recordings))
    parts = _split(name, good, seed)
    corpus: SoundCorpus
    if wants_text:
        corpus, more = _transcripts(name, parts, index, spec, seed, tokenizer)
        skipped += more
    else:
        corpus = _clips(name, parts, index, spec, seed)
    if skipped:
        warnings.warn(list_skipped(skipped, len(recordings), "recordings"), stacklevel=2)
    return corpus


def _clips(name: str, parts: Parts[Recording], index: AudioIndex, spec: ModelSpec, seed: int) -> ClipsCorpus:
    labels = names_of((str(each.label) for part in parts for each in part), name)
    classes = {
        split: torch.tensor([labels.index(str(each.label)) for each in part]) for split, part in parts.by_name().items()
    }
    about = _about(name, f"with {len(labels)} labels", parts, index, [str(seed), *labels])
    return ClipsCorpus(about, spec, _sounds(parts, index), classes, labels, AUGMENTATION)


def _transcripts(
    name: str, parts: Parts[Recording], index: AudioIndex, spec: ModelSpec, seed: int, tokenizer: str
) -> tuple[TranscriptsCorpus, list[Skipped]]:
    chosen = tokenizer_for(tokenizer, DEFAULT_TOKENIZER, [transcript_of(each) for each in parts.train], spec)
    kept, skipped = _learnable(parts, index, chosen, spec)
    for split, part in kept.by_name().items():
        if not part:
            raise DataError(
                f"{name}: nothing is left for {split}. {list_skipped(skipped, sum(map(len, parts)), 'recordings')}"
            )
    about = _about(name, "with transcripts", kept, index, [str(seed), chosen.content])
    texts = {split: [transcript_of(each) for each in part] for split, part in kept.by_name().items()}
    return TranscriptsCorpus(about, spec, chosen, _sounds(kept, index), texts, AUGMENTATION), skipped


def transcript_of(recording: Recording) -> str:
    """Give the transcript, in words with one space between."""
    return " ".join((recording.text or "").split())


def _learnable(
    parts: Parts[Recording], index: AudioIndex, tokenizer: Tokenizer, spec: ModelSpec
) -> tuple[Parts[Recording], list[Skipped]]:
    """Part what a model can learn from what it cannot."""
    aligned, milliseconds = spec.config.get("by") != "attention", token_ms(spec.config)
    kept: list[list[Recording]] = []
    skipped: list[Skipped] = []
    for part in parts:
        kept.append([])
        for each in part:
            why = fault(transcript_of(each), index.lengths[each.path], tokenizer, aligned, milliseconds)
            if why:
                skipped.append(Skipped(str(each.path), why))
            else:
                kept[-1].append(each)
    return Parts(*kept), skipped


def _split(name: str, recordings: Sequence[Recording], seed: int) -> Parts[Recording]:
    """Part the recordings as they say, else by chance; one speaker's stay together."""
    given: dict[str, list[Recording]] = {"train": []}
    for each in recordings:
        given.setdefault(each.part or "train", []).append(each)
    if not given["train"]:
        raise DataError(f"{name}: no recording that can be read is for training")
    wanted = [part for part in ("validation", "test") if part not in given]
    if wanted:
        given |= _drawn(name, given["train"], wanted, seed)
    return Parts(given["train"], given["validation"], given["test"])


def _drawn(name: str, recordings: Sequence[Recording], wanted: Sequence[str], seed: int) -> dict[str, list[Recording]]:
    """Draw parts by a hash of the speaker, else of file and folder, so that each stays in its part when others come."""
    names = [each.speaker or "/".join(each.path.parts[-2:]) for each in recordings]
    keys = {key: place for place, key in enumerate(dict.fromkeys(names))}
    if len(keys) <= len(wanted):
        raise DataError(
            f"{name} has {len(recordings):,} examples, of which {len(keys)} differ; training and "
            f"{' and '.join(wanted)} need one each"
        )
    label_of = dict(zip(names, (str(each.label) for each in recordings), strict=True))
    _, classes = np.unique([label_of[key] for key in keys], return_inverse=True)
    drawn = by_hash(hash_names(key.encode(errors="surrogateescape") for key in keys), seed, classes, wanted)
    part_of = {place: part for part, places in drawn.items() for place in places.tolist()}
    parts: dict[str, list[Recording]] = {"train": [], **{part: [] for part in wanted}}
    for key, each in zip(names, recordings, strict=True):
        parts[part_of[keys[key]]].append(each)
    return parts


def _wants_text(name: str, recordings: Sequence[Recording], spec: ModelSpec) -> bool:
    texts = sum(each.text is not None for each in recordings)
    labels = sum(each.label is not None for each in recordings)
    if texts == labels == len(recordings):
        return spec.task == "generate"
    if len(recordings) not in (texts, labels):
        raise DataError(
            f"{name}: of {len(recordings)} recordings {texts} have a 'text' and {labels} a 'label': give all of them "
            "one, or all the other"
        )
    return texts == len(recordings)


def _sounds(parts: Parts[Recording], index: AudioIndex) -> Mapping[str, Files]:
    memory = SharedSounds({each.path: index.lengths[each.path] for part in parts for each in part})
    return {
        split: Files([each.path for each in part], [index.lengths[each.path] for each in part], memory)
        for split, part in parts.by_name().items()
    }


def _check_not_empty(name: str, good: Sequence[Recording], skipped: Sequence[Skipped], total: int) -> None:
    if not good:
        raise DataError(f"{name}: none of the recordings can be read. {list_skipped(skipped, total, 'recordings')}")


def _about(name: str, what: str, parts: Parts[Recording], index: AudioIndex, further: Sequence[str]) -> DatasetInfo:
    every = [each for part in parts for each in part]
    hours = sum(index.lengths[each.path] for each in every) / RATE / 3600
    pieces = (f"{each.path.name} {each.label} {each.text} {index.lengths[each.path]}" for each in every)
    described = f"`{name}` holds {len(every):,} recordings {what}, {hours:.2f} hours."
    return DatasetInfo(name, described, fingerprint([*pieces, *further]))
