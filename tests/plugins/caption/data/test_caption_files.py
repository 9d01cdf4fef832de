import json
from pathlib import Path
from typing import Any

import pytest

from zoo import DataError
from zoo.plugins.caption.data.caption_files import read_captions

COCO: dict[str, Any] = {
    "images": [{"id": 7, "file_name": "b.png"}, {"id": 3, "file_name": "a.png"}],
    "annotations": [
        {"image_id": 3, "caption": "a dog"},
        {"image_id": 7, "caption": "two  cats\n"},
        {"image_id": 9, "caption": "nobody"},
    ],
}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_cocos_captions_find_their_pictures_by_id(tmp_path: Path) -> None:
    found = read_captions(written(tmp_path / "captions.json", COCO))
    assert [(each.picture, each.text, each.listed) for each in found] == [
        ("a.png", "a dog", True),
        ("b.png", "two cats", True),
        ("image_id 9", "nobody", False),
    ]


def test_karpathys_splits_are_kept_and_restval_is_trained_on(tmp_path: Path) -> None:
    parts = {"restval": "train", "train": "train", "val": "validation", "test": "test"}
    images = [
        {"filename": f"{name}.jpg", "filepath": "val2014", "split": name, "sentences": [{"raw": "one"}, {"raw": "two"}]}
        for name in parts
    ]
    found = read_captions(written(tmp_path / "dataset_coco.json", {"images": images}))
    assert [each.part for each in found] == [part for part in parts.values() for _ in range(2)]
    assert found[0].picture == "val2014/restval.jpg"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.tsv", "a.png\ta dog\na.png\tan animal\nb #1.png\ttwo cats\n"),
        ("results.token", "a.png#0\ta dog\na.png#1\tan animal\nb #1.png#0\ttwo cats\n"),
        ("captions.txt", 'image,caption\na.png,a dog\na.png,"an animal"\nb #1.png,two cats\n'),
    ],
)
def test_tables_and_flickrs_files_give_a_caption_for_each_line(tmp_path: Path, name: str, content: str) -> None:
    found = read_captions(written(tmp_path / name, content))
    assert [(each.picture, each.text) for each in found] == [
        ("a.png", "a dog"),
        ("a.png", "an animal"),
        ("b #1.png", "two cats"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("x.json", "{", "x.json is no JSON"),
        ("x.json", [1], "no list 'images'"),
        ("x.json", {"images": [{"id": 1}], "annotations": []}, r"images\[0\] has no 'file_name'"),
        ("x.json", COCO | {"annotations": [{"caption": "a"}]}, r"annotations\[0\] has no 'image_id'"),
        ("x.json", {"images": [{"filename": "a", "split": "dev", "sentences": []}]}, "split='dev' is not one of"),
        ("x.json", COCO | {"annotations": []}, "is empty: it has no captions"),
        ("x.tsv", "a.png a dog\n", r"x.tsv:1: no tab between .* 'a.png a dog'"),
        ("x.token", "a.png\ta dog\n", "x.token:1: 'a.png' does not end in #0"),
        ("x.csv", "image,caption\na.png,a dog,b\n", "x.csv:2: 3 columns, not image,caption"),
        ("x.tsv", "", "is empty"),
        ("x.xml", "", "not '.xml'"),
    ],
)
def test_errors_name_the_place_and_what_is_wanted(tmp_path: Path, name: str, content: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        read_captions(written(tmp_path / name, content))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*none.json"):
        read_captions(tmp_path / "none.json")
