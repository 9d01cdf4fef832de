"""The user's recordings, listed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import DataError
from zoo.plugins.speech.data.manifest import Recording, list_recordings

Lines = Callable[..., Path]


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    """Write a manifest."""

    def make(*entries: Any) -> Path:
        text = "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries)
        (tmp_path / "manifest.jsonl").write_text(text, encoding="utf-8")
        return tmp_path / "manifest.jsonl"

    return make


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_manifest_is_read_with_paths_beside_it(lines: Lines, tmp_path: Path) -> None:
    path = lines(
        {"audio": "a/x.wav", "text": "hello", "split": "dev", "speaker": "ann"}, "", {"audio": "/y.wav", "label": "no"}
    )
    first = Recording(tmp_path / "a/x.wav", None, "hello", "validation", "ann")
    assert list_recordings(path) == [first, Recording(Path("/y.wav"), "no")]
    assert list_recordings(tmp_path) == list_recordings(path)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("{", r"manifest\.jsonl:2: no JSON"),
        ("[1]", r"manifest\.jsonl:2: no JSON object with 'audio'"),
        ({"text": "a"}, r"manifest\.jsonl:2: no 'audio', the path of a file, among text"),
        ({"audio": 3, "text": "a"}, r"manifest\.jsonl:2: no 'audio'"),
        ({"audio": "x.wav"}, r"manifest\.jsonl:2: neither 'text', what is said, nor 'label' among audio"),
        ({"audio": "x.wav", "text": 3}, r"manifest\.jsonl:2: text=3 is no text"),
        ({"audio": "x.wav", "text": "a", "split": "half"}, r"split='half' is not one of train, validation, test"),
    ],
)
def test_a_line_that_is_no_recording_is_named(entry: Any, text: str, lines: Lines) -> None:
    with pytest.raises(DataError, match=text):
        list_recordings(lines({"audio": "x.wav", "text": "a"}, entry))


def test_a_manifest_without_a_line_is_refused(lines: Lines) -> None:
    with pytest.raises(DataError, match="is empty: it names no recording"):
        list_recordings(lines(""))


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError, match="cannot be read"):
        list_recordings(tmp_path / "list.jsonl")


def test_class_folders_give_labels(tmp_path: Path) -> None:
    touch(tmp_path, "yes/b.wav", "yes/deep/a.FLAC", "no/c.ogg", "no/notes.txt", ".hidden/d.wav", "_noise/e.wav")
    found = list_recordings(tmp_path)
    assert [(each.path.name, each.label, each.part) for each in found] == [
        ("c.ogg", "no", ""),
        ("b.wav", "yes", ""),
        ("a.FLAC", "yes", ""),
    ]


def test_folders_of_parts_hold_class_folders(tmp_path: Path) -> None:
    touch(tmp_path, "train/yes/a.wav", "train/no/b.wav", "valid/yes/c.wav", "test/no/d.wav")
    found = {each.path.name: (each.label, each.part) for each in list_recordings(tmp_path)}
    assert found == {
        "a.wav": ("yes", "train"),
        "b.wav": ("no", "train"),
        "c.wav": ("yes", "validation"),
        "d.wav": ("no", "test"),
    }


def test_what_holds_no_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file or folder '.*nowhere'"):
        list_recordings(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"has neither a manifest\.jsonl nor a folder of sounds for each class"):
        list_recordings(tmp_path)
    touch(tmp_path, "yes/a.wav", "no/b.txt", "list.csv")
    with pytest.raises(DataError, match=r"class 'no' in .* has no sound"):
        list_recordings(tmp_path)
    with pytest.raises(DataError, match="a folder of class folders, or a list such as"):
        list_recordings(tmp_path / "list.csv")
