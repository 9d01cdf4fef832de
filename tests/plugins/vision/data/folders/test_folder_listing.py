import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import DataError
from zoo.plugins.vision.data.folders.folder_listing import list_classes, list_pictures, shown_name

Draw = Callable[..., Path]


def names(root: Path, folder: str) -> list[bytes]:
    (found,) = list_pictures(root, [folder.encode()])
    return found.names


def test_pictures_are_listed_by_name_with_size_and_time(draw: Draw) -> None:
    root = draw({"cats": 3, "cats/more": 1})
    (root / "cats" / "read me.txt").touch()
    (found,) = list_pictures(root, [b"cats"])
    assert found.names == [b"cats/0.png", b"cats/1.png", b"cats/2.png", b"cats/more/0.png"]
    for name, size, time in zip(found.names, found.sizes, found.times, strict=True):
        state = (root / os.fsdecode(name)).stat()
        assert (size, time) == (state.st_size, state.st_mtime_ns)


def test_folders_are_classes_and_hidden_ones_are_not(draw: Draw) -> None:
    root = draw({"dogs": 1, "cats": 1, ".git": 1})
    classes, notes = list_classes(root)
    assert [(each.part, each.name) for each in classes] == [("", b"cats"), ("", b"dogs")]
    assert not notes


def test_links_are_followed_and_those_in_a_circle_left_out(draw: Draw) -> None:
    root = draw({"cats": 2, "dogs": 1})
    (root / "cats" / "up").symlink_to(root)
    (root / "cats" / "self.png").symlink_to("self.png")
    (root / "cats" / "gone.png").symlink_to("nowhere.png")
    (root / "cats" / "other.png").symlink_to(root / "dogs" / "0.png")
    (root / "cats" / "linked").symlink_to(root / "dogs")
    (root / "again").symlink_to(root)
    (found,) = list_pictures(root, [b"cats"])
    assert found.names == [b"cats/0.png", b"cats/1.png", b"cats/linked/0.png", b"cats/other.png"]
    assert found.left_out == {"link, pipe or device": [b"cats/gone.png", b"cats/self.png", b"cats/up"]}
    assert [each.name for each in list_classes(root)[0]] == [b"cats", b"dogs"]


def test_a_pipe_is_no_picture(draw: Draw) -> None:
    root = draw({"cats": 1})
    os.mkfifo(root / "cats" / "pipe.png")
    assert names(root, "cats") == [b"cats/0.png"]


def test_names_that_are_no_utf_8_are_listed_and_can_be_shown(draw: Draw) -> None:
    root = draw({"cats": 1})
    (root / "cats" / "0.png").rename(root / "cats" / "caf\udce9.png")
    assert names(root, "cats") == [b"cats/caf\xe9.png"]
    assert shown_name(b"cats/caf\xe9.png") == r"cats/caf\xe9.png"


def test_what_the_listing_can_tell_to_be_no_picture_is_left_out(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    root = draw({"cats": 3})
    (root / "cats" / "0.png").write_bytes(b"")
    (root / "cats" / "1.png").chmod(0o600)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root, who has all rights
    for name in ("photo.heic", ".DS_Store"):
        (root / "cats" / name).touch()
    (found,) = list_pictures(root, [b"cats"])
    assert found.names == [b"cats/2.png"]
    assert found.left_out == {
        "empty": [b"cats/0.png"],
        "ending of no image": [b"cats/photo.heic"],
        "no right to read": [b"cats/1.png"],
    }


def test_a_folder_without_rights_is_named(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    root = draw({"cats": 1, "dogs": 1})
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if path.endswith(b"dogs"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)  # the tests may run as root, who has all rights
    (cats, dogs) = list_pictures(root, [b"cats", b"dogs"])
    assert (cats.names, cats.closed) == ([b"cats/0.png"], [])
    assert dogs.closed == ["'dogs' cannot be read: Permission denied; change its rights, or move it away"]
    monkeypatch.setattr(os, "scandir", lambda path: refuse(b"dogs"))
    with pytest.raises(DataError, match=r"folder:.*: '.' cannot be read: Permission denied; change its rights"):
        list_classes(root)


def test_parts_are_taken_as_they_are_given(draw: Draw) -> None:
    root = draw({"train/cats": 2, "train/dogs": 2, "val/dogs": 1, "test/cats": 1, "unlabelled/x": 1})
    classes, notes = list_classes(root)
    assert [(each.part, each.path) for each in classes] == [
        ("train", b"train/cats"),
        ("train", b"train/dogs"),
        ("validation", b"val/dogs"),
        ("test", b"test/cats"),
    ]
    assert notes == ("split already; folders that are no part of it are left out: unlabelled",)


@pytest.mark.parametrize(
    ("folders", "told"),
    [
        ({"train/cats": 1, "train/dogs": 1, "test/birds": 1}, "'test/birds' is of a class that is not in 'train'"),
        (
            {"train/cats": 1, "train/dogs": 1, "test/birds": 1, "val/ants": 1},
            "'val/ants', 'test/birds' are of classes that are not in 'train', which has cats, dogs",
        ),
        ({"train": 2, "test": 2}, "is split into train, test, and 'train' has no sub-folder for each class"),
        ({"train/cats": 1, "val/cats": 1, "dev/cats": 1}, "'dev' and 'val' are the same part"),
        (
            {"train/cats": 1, "train/dogs": 1, "val": 1},
            "'val' has no sub-folder for each class: add some, or remove it",
        ),
        ({"cats": 1}, r"has one class \(cats\): put the pictures into a sub-folder for each"),
        ({}, "there is no such folder"),
    ],
)
def test_folders_that_cannot_be_used(draw: Draw, folders: dict[str, int], told: str) -> None:
    with pytest.raises(DataError, match=told):
        list_classes(draw(folders))


def test_a_class_that_is_called_train_is_a_class(draw: Draw) -> None:
    assert [each.name for each in list_classes(draw({"train": 1, "bus": 1}))[0]] == [b"bus", b"train"]
