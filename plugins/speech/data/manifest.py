"""Lists of the user's recordings: a manifest, or a folder of class folders; audio is not read here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from zoo import DataError

MANIFEST = "manifest.jsonl"
ENDINGS = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".au", ".w64", ".caf")
PARTS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
"""The parts of data, and what else they are called."""
_KEYS = ("text", "label", "split", "speaker")


class Recording(NamedTuple):
    """Recording of a manifest: audio file, transcript or label, split and speaker.

    Args:
        path: of the file.
        label: of the whole; None if nobody says.
        text: that is said; None if nobody says.
        part: it belongs to; empty where that is left to us.
        speaker: who speaks; nobody is in two parts. Empty if nobody says.
    """

    path: Path
    label: str | None = None
    text: str | None = None
    part: str = ""
    speaker: str = ""


def list_recordings(path: Path) -> list[Recording]:
    """List the recordings of a manifest, of a folder that holds one, or of class folders.

    Raises:
        DataError: If there is nothing of that kind.
    """
    if path.is_dir():
        return list_manifest(path / MANIFEST) if (path / MANIFEST).is_file() else list_folders(path)
    if not path.exists():
        raise DataError(f"recordings: there is no file or folder {str(path)!r}")
    if path.suffix.lower() not in (".jsonl", ".json"):
        raise DataError(f"{path}: recordings are a folder of class folders, or a list such as {MANIFEST}")
    return list_manifest(path)


def list_manifest(path: Path) -> list[Recording]:
    """List what a manifest names: in each line a JSON object, `audio`, `text` or `label`, perhaps `split`, `speaker`.

    Paths of files are relative to the manifest.

    Raises:
        DataError: If a line is no such object; the text names the line.
    """
    found = []
    for place, entry in _objects(path):
        audio = entry.get("audio")
        if not isinstance(audio, str) or not audio:
            raise DataError(f"{place}: no 'audio', the path of a file, among {', '.join(entry) or 'no keys'}")
        for key in _KEYS:
            if not isinstance(entry.get(key, ""), str):
                raise DataError(f"{place}: {key}={entry[key]!r} is no text")
        text, label = entry.get("text"), entry.get("label")
        if text is None and label is None:
            raise DataError(f"{place}: neither 'text', what is said, nor 'label' among {', '.join(entry)}")
        file = path.parent / Path(audio).expanduser()
        part = _part(entry["split"], place) if entry.get("split") else ""
        found.append(Recording(file, label, text, part, entry.get("speaker", "")))
    if not found:
        raise DataError(f"{path} is empty: it names no recording")
    return found


def list_folders(path: Path) -> list[Recording]:
    """List the sounds of class folders; these may lie in folders called `train`, `validation` and `test`.

    Raises:
        DataError: If there are no class folders, or one holds no sound.
    """
    folders = _folders(path)
    parts = {folder: name for folder in folders for name, names in PARTS.items() if folder.name.lower() in names}
    if "train" in parts.values() and len(parts) == len(folders):
        return [each._replace(part=part) for folder, part in parts.items() for each in list_folders(folder)]
    if not folders:
        raise DataError(f"{path} has neither a {MANIFEST} nor a folder of sounds for each class")
    found = []
    for folder in folders:
        files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS)
        if not files:
            raise DataError(f"class {folder.name!r} in {path} has no sound: files end in {', '.join(ENDINGS)}")
        found += [Recording(file, label=folder.name) for file in files]
    return found


def _folders(path: Path) -> list[Path]:
    return sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith((".", "_")))


def _part(name: str, place: str) -> str:
    part = next((part for part, names in PARTS.items() if name.lower() in names), "")
    if not part:
        raise DataError(f"{place}: split={name!r} is not one of {', '.join(PARTS)}")
    return part


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: no JSON: {error}") from error
        if not isinstance(entry, dict):
            raise DataError(f"{path}:{number}: no JSON object with 'audio' and 'text' or 'label'")
        yield f"{path}:{number}", entry
