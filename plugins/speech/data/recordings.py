"""The user's recordings for `zoo train`: the source `recordings:DIR`, and corpora of any list of recordings."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Skipped, fingerprint, for_training, list_skipped, names_of
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.speech.data.audio_store import Files, SharedSounds
from zoo.plugins.speech.data.augmentation import faster_or_slower
from zoo.plugins.speech.data.corpus import Augmentation, ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.manifest import Recording, list_recordings
from zoo.plugins.speech.data.recording_index import RecordingIndex
from zoo.plugins.speech.data.transcripts import Texts, TranscriptsCorpus, fault, tokenizer_for
from zoo.plugins.speech.io.preprocess import RATE

AUGMENTATION = Augmentation(training=faster_or_slower)
"""Other speeds, in training."""
DEFAULT_TOKENIZER = "char"
"""The characters of the training's transcripts."""
Rows = Mapping[str, Int64[np.ndarray, " part"]]
"""Recordings of each part, as their rows in the index."""


def open_recordings(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Open a folder of class folders, or a manifest."""
    path = Path(argument).expanduser()
    return corpus_of(path.name, list_recordings(path), spec, seed, tokenizer)


def corpus_of(name: str, recordings: Sequence[Recording], spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Make a corpus of what is listed: of transcripts, or of clips with labels.

    The header of each file is read once; samples are read when they are needed. What cannot be read or learned is left
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
    index = RecordingIndex.of(recordings)
    wants_text = _wants_text(name, index, spec)
    skipped = [
        Skipped(index.name(row), index.cell("why", row) or "") for row in np.flatnonzero(index.lengths == 0).tolist()
    ]
    good = np.flatnonzero(index.lengths)
    if not len(good):
        report = list_skipped(skipped, len(index), "recordings")
        raise DataError(f"{name}: none of the recordings can be read. {report}")
    parts = index.parts(name, good, seed)
    corpus: SoundCorpus
    if wants_text:
        corpus, more = _transcripts(name, parts, index, spec, seed, tokenizer)
        skipped += more
    else:
        corpus = _clips(name, parts, index, spec, seed)
    if skipped:
        warnings.warn(list_skipped(skipped, len(index), "recordings"), stacklevel=2)
    return corpus


def _clips(name: str, parts: Rows, index: RecordingIndex, spec: ModelSpec, seed: int) -> ClipsCorpus:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {part: index.cells("label", rows) for part, rows in parts.items()}
    _check_given(name, parts, index, {part: {*cells.to_pylist()} for part, cells in found.items()})
    labels = names_of((label for cells in found.values() for label in cells.to_pylist()), name)
    order = pa.array(labels, pa.large_string())
    classes = {
        part: torch.from_numpy(pc.index_in(cells, order).to_numpy().astype(np.int64)) for part, cells in found.items()
    }
    about = describe(name, f"with {len(labels)} labels", parts, index.lengths, [index.fingerprint, str(seed), *labels])
    return ClipsCorpus(about, spec, _sounds(parts, index), classes, labels, AUGMENTATION)


def _check_given(name: str, parts: Rows, index: RecordingIndex, found: Mapping[str, set[str]]) -> None:
    """Check that no part that is given, not drawn, has a label that is not trained.

    Raises:
        DataError: If one has.
    """
    for part in found.keys() - {"train"}:
        given = part in index.cells("part", parts[part]).to_pylist()
        if given and for_training() and (strange := sorted(found[part] - found["train"])):
            raise DataError(
                f"{name}: label{'s' if len(strange) > 1 else ''} {', '.join(strange[:5])} of {part} are in no training "
                f"example, which have {', '.join(sorted(found['train'])[:20])}"
            )


def _transcripts(
    name: str, parts: Rows, index: RecordingIndex, spec: ModelSpec, seed: int, tokenizer: str
) -> tuple[TranscriptsCorpus, list[Skipped]]:
    chosen = tokenizer_for(tokenizer, DEFAULT_TOKENIZER, Texts(index, "text", parts["train"]), spec)
    aligned, milliseconds = spec.config.get("by") != "attention", token_ms(spec.config)
    kept, skipped = {}, []
    for part, rows in parts.items():
        lengths = index.lengths[rows].tolist()
        faults = [
            fault(said, length, chosen, aligned, milliseconds)
            for said, length in zip(Texts(index, "text", rows), lengths, strict=True)
        ]
        skipped += [Skipped(index.name(int(row)), why) for row, why in zip(rows, faults, strict=True) if why]
        kept[part] = rows[[not why for why in faults]]
    empty = [part for part, rows in kept.items() if not len(rows)]
    if empty and (for_training() or len(empty) == len(kept)):
        report = list_skipped(skipped, sum(map(len, parts.values())), "recordings")
        raise DataError(f"{name}: nothing is left for {empty[0]}. {report}")
    about = describe(name, "with transcripts", kept, index.lengths, [index.fingerprint, str(seed), chosen.content])
    texts = {part: Texts(index, "text", rows) for part, rows in kept.items()}
    return TranscriptsCorpus(about, spec, chosen, _sounds(kept, index), texts, AUGMENTATION), skipped


def _wants_text(name: str, index: RecordingIndex, spec: ModelSpec) -> bool:
    texts, labels = (len(index) - index.table.column(column).null_count for column in ("text", "label"))
    if texts == labels == len(index):
        return spec.task == "generate"
    if len(index) not in (texts, labels):
        raise DataError(
            f"{name}: of {len(index)} recordings {texts} have a 'text' and {labels} a 'label': give all of them "
            "one, or all the other"
        )
    return texts == len(index)


def _sounds(parts: Rows, index: RecordingIndex) -> Mapping[str, Files]:
    memory = SharedSounds(index)
    return {part: Files(memory, rows) for part, rows in parts.items()}


def describe(name: str, what: str, parts: Rows, lengths: Int64[np.ndarray, " n"], pieces: Sequence[str]) -> DatasetInfo:
    """Say how many recordings and hours there are; the fingerprint is that of the pieces."""
    rows = np.concatenate(list(parts.values()))
    described = f"`{name}` holds {len(rows):,} recordings {what}, {lengths[rows].sum() / RATE / 3600:.2f} hours."
    return DatasetInfo(name, described, fingerprint(pieces))
