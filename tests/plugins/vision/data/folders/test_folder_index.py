import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.errors import DataError
from zoo.plugins.vision.data.folders.folder_index import FolderIndex

Draw = Callable[..., Path]


def test_an_index_has_each_picture_with_its_class(draw: Draw) -> None:
    root = draw({"dogs": 4, "cats": 3})
    index = FolderIndex.open(root)
    assert index.classes == ("cats", "dogs")
    assert [index.name(place) for place in range(7)] == [
        *(b"cats/%d.png" % number for number in range(3)),
        *(b"dogs/%d.png" % number for number in range(4)),
    ]
    assert index.arrays["labels"].tolist() == [0] * 3 + [1] * 4
    assert index.path(6) == root / "dogs" / "3.png"


def test_an_index_is_mapped_from_the_cache_and_goes_to_other_processes_as_its_path(draw: Draw, cache: Path) -> None:
    index = FolderIndex.open(draw({"dogs": 200, "cats": 3}))
    assert index.file is not None
    assert index.file.is_relative_to(cache)
    written = index.file.stat().st_mtime_ns
    assert FolderIndex.open(index.root).file == index.file
    assert index.file.stat().st_mtime_ns == written
    sent = pickle.dumps(index)
    assert len(sent) < 1000
    assert np.array_equal(pickle.loads(sent).arrays["names"], index.arrays["names"])


def test_a_file_added_removed_or_replaced_changes_the_fingerprint(draw: Draw) -> None:
    root = draw({"dogs": 4, "cats": 4})
    seen = {FolderIndex.open(root).fingerprint}
    (root / "cats" / "new.png").write_bytes((root / "cats" / "0.png").read_bytes())
    seen.add(FolderIndex.open(root).fingerprint)
    (root / "dogs" / "0.png").unlink()
    seen.add(FolderIndex.open(root).fingerprint)
    os.utime(root / "dogs" / "1.png", ns=(0, 0))
    seen.add(FolderIndex.open(root).fingerprint)
    assert len(seen) == 4
    moved = root.rename(root.with_name("elsewhere"))
    assert FolderIndex.open(moved).fingerprint in seen


def test_where_the_cache_cannot_be_written_the_index_is_in_memory(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"its pictures is not kept: .*set ZOO_CACHE to a folder that has room"):
        index = FolderIndex.open(draw({"dogs": 3, "cats": 3}))
    assert index.file is None
    assert pickle.loads(pickle.dumps(index)).name(0) == b"cats/0.png"
    assert index.kept("size", lambda: 3) == 3


def test_a_picture_stays_in_its_part_when_others_come(draw: Draw) -> None:
    def parts(index: FolderIndex) -> dict[bytes, str]:
        return {index.name(place): part for part, places in index.parts(0).items() for place in places.tolist()}

    before = parts(FolderIndex.open(draw({"dogs": 60, "cats": 60})))
    after = parts(FolderIndex.open(draw({"dogs": 90, "cats": 61})))
    assert before.items() <= after.items()
    assert len(after) == 151


def test_each_class_is_in_each_part(draw: Draw) -> None:
    index = FolderIndex.open(draw({"dogs": 3, "cats": 20, "eels": 4}))
    for places in index.parts(5).values():
        assert set(index.arrays["labels"][places]) == {0, 1, 2}


def test_parts_that_are_given_are_kept_and_the_others_drawn_from_the_training_pictures(draw: Draw) -> None:
    index = FolderIndex.open(draw({"train/dogs": 9, "train/cats": 9, "test/cats": 2}))
    parts = index.parts(0)
    assert [index.name(place) for place in parts["test"].tolist()] == [b"test/cats/0.png", b"test/cats/1.png"]
    assert index.arrays["labels"][parts["test"]].tolist() == [0, 0]
    assert sorted([*parts["train"], *parts["validation"]]) == list(range(18))


def test_a_sample_is_the_same_in_any_order(draw: Draw) -> None:
    index = FolderIndex.open(draw({"dogs": 20, "cats": 20}))
    places = np.arange(40)
    assert index.sample(places, 9).tolist() == index.sample(places[::-1], 9).tolist()
    assert len(set(index.sample(places, 9))) == 9


def test_all_classes_with_too_few_pictures_are_named(draw: Draw) -> None:
    told = r"class 'ants' has no images; class 'birds' has 2 images; class 'eels' has 1 image\. Training, validation a"
    with pytest.raises(DataError, match=told):
        FolderIndex.open(draw({"ants": 0, "birds": 2, "cats": 3, "eels": 1}))
    with pytest.raises(DataError, match=r"class 'cats' has 1 image\. Training and validation need one of each class"):
        FolderIndex.open(draw({"train/cats": 1, "train/dogs": 2, "test/cats": 1}, "split"))


def test_a_validation_folder_without_pictures_is_an_error(draw: Draw) -> None:
    with pytest.raises(DataError, match="validation has no image: add some, or remove its folder, and it is drawn"):
        FolderIndex.open(draw({"train/cats": 3, "train/dogs": 3, "val/cats": 0}))


def test_an_empty_class_is_named_with_all_that_the_listing_can_tell(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = draw({"ants": 0, "birds": 4, "cats": 4, "dogs": 4})
    (root / "cats" / "0.png").write_bytes(b"")
    (root / "birds" / "x.heic").touch()
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if path.endswith(b"dogs"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)  # the tests may run as root, who has all rights
    with pytest.raises(DataError) as refused:
        FolderIndex.open(root)
    assert str(refused.value).splitlines() == [
        f"folder:{root}: 'dogs' cannot be read: Permission denied; change its rights, or move it away",
        "  class 'ants' has no images. Training, validation and test need one of each class: add images, or move the "
        "folder away",
        "  1 file left out (empty): cats/0.png",
        "  1 file left out (ending of no image): birds/x.heic",
    ]
    monkeypatch.setattr(os, "scandir", scan)
    (root / "ants").rmdir()
    index = FolderIndex.open(root)
    assert len(index) == 11
    assert index.notes == (
        "1 file left out (empty): cats/0.png", "1 file left out (ending of no image): birds/x.heic",
    )  # fmt: skip


def test_keys_change_with_size_and_time(draw: Draw) -> None:
    root = draw({"dogs": 3, "cats": 3})
    before = FolderIndex.open(root).keys()
    os.utime(root / "cats" / "1.png", ns=(0, 0))
    (root / "dogs" / "0.png").write_bytes(b"x")
    after = FolderIndex.open(root).keys()
    assert (before != after).nonzero()[0].tolist() == [1, 3]
    assert len(set(before)) == 6
