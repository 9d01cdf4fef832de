"""Sounds of a table: a column of sounds or of their paths, and one of transcripts or of labels."""

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt64
from numpy.typing import NDArray
from torch import Tensor

from zoo import DataError, InputError, ModelSpec
from zoo.data import (
    DatasetInfo,
    Role,
    Skipped,
    Table,
    cached_file,
    check_complete,
    choose_columns,
    described,
    fingerprint,
    hash_names,
    list_skipped,
    read_classes,
    shown,
)
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.speech.data.audio_store import map_in_threads
from zoo.plugins.speech.data.corpus import ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.recordings import AUGMENTATION, DEFAULT_TOKENIZER
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus, fault, tokenizer_for
from zoo.plugins.speech.io.preprocess import RATE, Preprocess

AUDIO = Role("audio", ("audio", "bytes", "text"), ("audio", "sound", "path", "file", "audio_path"), also=("path",))
TEXT = Role("text", ("text",), ("text", "sentence", "transcript", "transcription", "txt"), optional=True)
LABEL = Role("label", ("class", "integer", "text"), ("label", "labels", "class", "cls", "command"), optional=True)
SPEAKER = Role("speaker", ("text", "integer", "class"), ("speaker", "speaker_id", "client_id"), optional=True)
Parts = Mapping[str, NDArray[np.int64]]


def open_table(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Make a corpus of the columns `audio`, and `text` or `label`; with both, the model's task decides.

    One speaker's sounds, where a column `speaker` tells them, stay in one part. Every sound is read once, the first
    time; those that cannot be read or learned are left out, with a warning that counts and names them.

    Raises:
        DataError: If a column cannot be chosen, files are not there, or nothing is left.
    """
    columns = choose_columns(table, AUDIO, LABEL, TEXT, SPEAKER)
    writes = spec.config.get("task", spec.task) == "generate"
    if "label" in columns and not (writes and "text" in columns):
        table, classes, labels = read_classes(table, columns["label"])
        sounds = _Sounds(table, columns["audio"])
        parts = sounds.kept(table.parts(_hashes(table, columns), seed, classes))
        about = sounds.about(f"with {len(labels)} labels", parts, columns["label"], str(seed))
        chosen = {part: torch.from_numpy(classes[rows]) for part, rows in parts.items()}
        return ClipsCorpus(about, spec, sounds.by_part(parts), chosen, labels, AUGMENTATION)
    if "text" not in columns:
        raise DataError(f"{table.name} has columns {described(table)}: write ?text=COLUMN or ?label=COLUMN behind it")
    return _transcripts(table, columns, spec, seed, tokenizer)


def _transcripts(
    table: Table, columns: Mapping[str, str], spec: ModelSpec, seed: int, tokenizer: str
) -> TranscriptsCorpus:
    check_complete(table, columns["text"])
    texts = [" ".join(text.split()) for text in table.values(columns["text"])]
    sounds = _Sounds(table, columns["audio"])
    drawn = table.parts(_hashes(table, columns), seed)
    chosen = tokenizer_for(tokenizer, DEFAULT_TOKENIZER, [texts[row] for row in drawn["train"]], spec)
    aligned, milliseconds = spec.config.get("by") != "attention", token_ms(spec.config)
    why = {
        row: fault(texts[row], int(sounds.lengths[row]), chosen, aligned, milliseconds)
        for row in np.flatnonzero(sounds.lengths).tolist()
    }
    parts = sounds.kept(drawn, {row: reason for row, reason in why.items() if reason})
    about = sounds.about("with transcripts", parts, columns["text"], str(seed), chosen.content)
    said = {part: [texts[row] for row in rows] for part, rows in parts.items()}
    return TranscriptsCorpus(about, spec, chosen, sounds.by_part(parts), said, AUGMENTATION)


def _hashes(table: Table, columns: Mapping[str, str]) -> UInt64[np.ndarray, " n"]:
    """Hash each row by who speaks, or by its sound."""
    if "speaker" not in columns:
        return table.hashes(columns["audio"])
    return hash_names(repr(speaker).encode() for speaker in table.values(columns["speaker"])).copy()


class TableSounds:
    """Some sounds of a table, read when they are needed.

    Args:
        table: holds them.
        column: of the sounds.
        rows: of these.
        lengths: of these, in samples.
    """

    reads_files = True

    def __init__(self, table: Table, column: str, rows: Int64[np.ndarray, " k"], lengths: Tensor) -> None:
        self.table, self.column, self.rows, self.lengths = table, column, rows, lengths

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound."""
        return Preprocess().samples(self.table.file(self.column, int(self.rows[place])))


class _Sounds:
    """The sounds of a whole table: their lengths, 0 where they cannot be read, and why not."""

    def __init__(self, table: Table, column: str) -> None:
        self.table, self.column = table, column
        stats = [hashlib.blake2b(each.tobytes(), digest_size=8).hexdigest() for each in table.file_stats(column)]
        self.key = fingerprint([table.fingerprint, column, *stats])
        found = json.loads(cached_file(f"sounds/{self.key}.json", self._measure).read_text(encoding="utf-8"))
        self.lengths = np.array(found["lengths"], np.int64)
        self.skipped = {int(row): why for row, why in found["skipped"].items()}

    def _measure(self, path: Path) -> None:
        rows = range(len(self.table))
        lengths, skipped = [], {}
        for row, found in enumerate(shown(map_in_threads(self._length, rows), len(rows), "reading sounds")):
            lengths.append(found if isinstance(found, int) else 0)
            if isinstance(found, str):
                skipped[row] = found
        path.write_text(json.dumps({"lengths": lengths, "skipped": skipped}), encoding="utf-8")

    def _length(self, row: int) -> int | str:
        try:
            return len(Preprocess().samples(self.table.file(self.column, row)))
        except (InputError, OSError) as error:
            return str(error)

    def kept(self, parts: Parts, faults: Mapping[int, str] | None = None) -> Parts:
        """Leave out what cannot be read or learned, with a warning.

        Raises:
            DataError: If nothing is left of a part.
        """
        bad = self.skipped | dict(faults or {})
        told = [Skipped(self.table.file_name(self.column, row), why) for row, why in sorted(bad.items())]
        report = list_skipped(told, len(self.table), "recordings")
        kept = {part: rows[~np.isin(rows, list(bad))] for part, rows in parts.items()}
        if empty := [part for part, rows in kept.items() if not len(rows)]:
            raise DataError(f"{self.table.name}: nothing is left for {' and '.join(empty)}. {report}")
        if bad:
            warnings.warn(report, stacklevel=4)
        return kept

    def by_part(self, parts: Parts) -> dict[str, TableSounds]:
        """Give the sounds of each part."""
        lengths = torch.from_numpy(self.lengths)
        return {part: TableSounds(self.table, self.column, rows, lengths[rows]) for part, rows in parts.items()}

    def about(self, what: str, parts: Parts, *further: str) -> DatasetInfo:
        """Describe the sounds that are left."""
        rows = np.concatenate(list(parts.values()))
        name, hours = self.table.name, self.lengths[rows].sum() / RATE / 3600
        told = f"`{name}` holds {len(rows):,} recordings {what}, {hours:.2f} hours."
        return DatasetInfo(name, told, fingerprint([self.key, *further]))
