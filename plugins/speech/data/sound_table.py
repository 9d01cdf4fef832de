"""Sounds of a table: a column of sounds or of their paths, and one of transcripts or of labels."""

import hashlib
import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64, UInt64
from numpy.typing import NDArray

from zoo import DataError, ModelSpec
from zoo.data import (
    DatasetInfo,
    Role,
    Skipped,
    Table,
    TableColumns,
    cached_file,
    check_complete,
    choose_columns,
    described,
    fingerprint,
    for_training,
    hash_names,
    list_skipped,
    read_classes,
)
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.speech.data.audio_store import Files, SharedSounds, measure_audio
from zoo.plugins.speech.data.corpus import ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.recordings import AUGMENTATION, DEFAULT_TOKENIZER, describe
from zoo.plugins.speech.data.transcripts import Texts, TranscriptsCorpus, fault, tokenizer_for

AUDIO = Role("audio", ("audio", "bytes", "text"), ("audio", "sound", "path", "file", "audio_path"), also=("path",))
TEXT = Role("text", ("text",), ("text", "sentence", "transcript", "transcription", "txt"), optional=True)
LABEL = Role("label", ("class", "integer", "text"), ("label", "labels", "class", "cls", "command"), optional=True)
SPEAKER = Role("speaker", ("text", "integer", "class"), ("speaker", "speaker_id", "client_id"), optional=True)
Parts = Mapping[str, NDArray[np.int64]]


def open_table(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Make a corpus of the columns `audio`, and `text` or `label`; with both, the model's task decides.

    One speaker's sounds, where a column `speaker` tells them, stay in one part. The header of each sound is
    read once; those that cannot be read or learned are left out, with a warning that counts and names them.

    Raises:
        DataError: If a column cannot be chosen, files are not there, or nothing is left.
    """
    columns = choose_columns(table, AUDIO, LABEL, TEXT, SPEAKER)
    writes = spec.config.get("task", spec.task) == "generate"
    if "label" in columns and not (writes and "text" in columns):
        table, classes, labels = read_classes(table, columns["label"])
        sounds = TableAudio.of(table, columns["audio"])
        parts = sounds.kept(table.parts(_hashes(table, columns), seed, classes))
        about = sounds.about(f"with {len(labels)} labels", parts, columns["label"], str(seed))
        chosen = {part: torch.from_numpy(classes[rows]) for part, rows in parts.items()}
        clips = ClipsCorpus(about, spec, sounds.by_part(parts), chosen, labels, AUGMENTATION)
        clips.columns = TableColumns(table, {part: rows.tolist() for part, rows in parts.items()})
        return clips
    if "text" not in columns:
        raise DataError(f"{table.name} has columns {described(table)}: {table.advice('text', 'label')}")
    return _transcripts(table, columns, spec, seed, tokenizer)


def _transcripts(
    table: Table, columns: Mapping[str, str], spec: ModelSpec, seed: int, tokenizer: str
) -> TranscriptsCorpus:
    check_complete(table, columns["text"])
    sounds = TableAudio.of(table, columns["audio"])
    drawn = table.parts(_hashes(table, columns), seed)
    chosen = tokenizer_for(tokenizer, DEFAULT_TOKENIZER, Texts(table, columns["text"], drawn["train"]), spec)
    aligned, milliseconds = spec.config.get("by") != "attention", token_ms(spec.config)
    why = {
        row: fault(text, int(sounds.lengths[row]), chosen, aligned, milliseconds)
        for row, text in enumerate(Texts(table, columns["text"], np.arange(len(table))))
        if sounds.lengths[row]
    }
    parts = sounds.kept(drawn, {row: reason for row, reason in why.items() if reason})
    about = sounds.about("with transcripts", parts, columns["text"], str(seed), chosen.content)
    said = {part: Texts(table, columns["text"], rows) for part, rows in parts.items()}
    corpus = TranscriptsCorpus(about, spec, chosen, sounds.by_part(parts), said, AUGMENTATION)
    corpus.columns = TableColumns(table, {part: rows.tolist() for part, rows in parts.items()})
    return corpus


def _hashes(table: Table, columns: Mapping[str, str]) -> UInt64[np.ndarray, " n"]:
    """Hash each row by who speaks, or by its sound."""
    if "speaker" not in columns:
        return table.hashes(columns["audio"])
    return hash_names(repr(speaker).encode() for speaker in table.values(columns["speaker"])).copy()


class TableAudio:
    """The sounds of a table: their lengths, as their headers tell, once, and why some cannot be read.

    Args:
        table: holds them.
        column: of the sounds.
        key: of what was measured, in the cache.
    """

    def __init__(self, table: Table, column: str, key: str) -> None:
        import pyarrow as pa

        self.table, self.column, self.key = table, column, key
        with pa.memory_map(str(cached_file(f"sounds/{key}.arrow", self._measure))) as opened:
            self._found = pa.ipc.open_file(opened).read_all()

    @classmethod
    def of(cls, table: Table, column: str) -> "TableAudio":
        """Read the headers of all sounds that were not read before."""
        stats = [hashlib.blake2b(each.tobytes(), digest_size=8).hexdigest() for each in table.file_stats(column)]
        return cls(table, column, fingerprint(["headers", table.fingerprint, column, *stats]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Give another process the path of the file."""
        return TableAudio, (self.table, self.column, self.key)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """See `AudioFiles.lengths`."""
        found: Int64[np.ndarray, " n"] = self._found.column("length").chunk(0).to_numpy()
        return found

    def opened(self, row: int) -> Path | BytesIO:
        """See `AudioFiles.opened`."""
        return self.table.file(self.column, row)

    def name(self, row: int) -> str:
        """See `AudioFiles.name`."""
        return self.table.file_name(self.column, row)

    def _measure(self, path: Path) -> None:
        import pyarrow as pa

        lengths, why = measure_audio(self.opened, np.arange(len(self.table)))
        found = pa.table({"length": pa.array(lengths), "why": pa.array(why, pa.large_string())})
        with pa.ipc.new_file(str(path), found.schema) as file:
            file.write_table(found)

    def kept(self, parts: Parts, faults: Mapping[int, str] | None = None) -> Parts:
        """Leave out what cannot be read or learned, with a warning.

        Raises:
            DataError: If nothing is left of a part.
        """
        why = self._found.column("why")
        bad = {row: why[row].as_py() for row in np.flatnonzero(self.lengths == 0).tolist()} | dict(faults or {})
        told = [Skipped(self.name(row), reason) for row, reason in sorted(bad.items())]
        report = list_skipped(told, len(self.table), "recordings")
        kept = {part: rows[~np.isin(rows, list(bad))] for part, rows in parts.items()}
        empty = [part for part, rows in kept.items() if not len(rows)]
        if empty and (for_training() or len(empty) == len(kept)):
            raise DataError(f"{self.table.name}: nothing is left for {' and '.join(empty)}. {report}")
        if bad:
            warnings.warn(report, stacklevel=4)
        return kept

    def by_part(self, parts: Parts) -> dict[str, Files]:
        """Give the sounds of each part, in memory that they share."""
        memory = SharedSounds(self)
        return {part: Files(memory, rows) for part, rows in parts.items()}

    def about(self, what: str, parts: Parts, *further: str) -> DatasetInfo:
        """Describe the sounds that are left."""
        return describe(self.table.name, what, parts, self.lengths, [self.key, *further])
