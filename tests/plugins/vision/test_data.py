import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.vision import image_files
from zoo.plugins.vision.data import open_cards, open_digits, open_folder, open_npz
from zoo.plugins.vision.image_source import ImageSource as Source
from zoo.plugins.vision.sources import SOURCES

Save = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name, count in (("cats", 8), ("dogs", 12)):
        (tmp_path / name).mkdir()
        for index in range(count):
            picture = rng.integers(0, 255, (10, 14, 3), np.uint8)
            Image.fromarray(picture).save(tmp_path / name / f"{index}.png")
    return tmp_path


@pytest.fixture
def archive(tmp_path: Path) -> Save:
    def save(**arrays: Any) -> str:
        np.savez(tmp_path / "data.npz", **arrays)
        return str(tmp_path / "data.npz")

    return save


@pytest.mark.parametrize("source", [open_cards(), open_digits()], ids=["cards", "digits"])
def test_subsets_are_nested_and_balanced(source: Source) -> None:
    few, more = source.train(40, 0), source.train(80, 0)
    assert torch.equal(more.inputs[:40], few.inputs)
    assert torch.bincount(few.labels).tolist() == [4] * 10


def test_no_digit_is_in_two_parts() -> None:
    source = open_digits()
    assert source.limit
    parts = [source.train(source.limit, 0), source.validation(), source.test()]
    assert sum(len(part.labels) for part in parts) == 1797
    pictures = torch.cat([part.inputs.flatten(1) for part in parts])
    assert len(pictures.unique(dim=0)) == 1797


def test_the_split_is_the_same_each_time() -> None:
    assert torch.equal(open_digits().test().inputs, open_digits().test().inputs)


def test_a_seed_draws_another_subset() -> None:
    source = open_digits()
    assert not torch.equal(source.train(50, 0).inputs, source.train(50, 1).inputs)


def test_prepared_pictures_have_the_size_asked_for() -> None:
    source = open_digits().resized(16)
    small, large = (each.prepare(each.test().inputs[:2]) for each in (open_digits(), source))
    assert large.shape == (2, 1, 16, 16)
    torch.testing.assert_close(large.mean((1, 2, 3)), small.mean((1, 2, 3)), rtol=0.1, atol=0.1)


def test_augmenting_shifts_by_at_most_a_pixel() -> None:
    source = open_digits()
    picture = torch.zeros(50, 1, 9, 9)
    picture[:, :, 4, 4] = 1
    moved = source.augment(picture, torch.Generator().manual_seed(0))
    assert moved.sum((1, 2, 3)).tolist() == [1] * 50
    assert moved[:, 0, 3:6, 3:6].sum() == 50
    assert len(moved.unique(dim=0)) == 9


def test_more_examples_than_there_are() -> None:
    with pytest.raises(DataError, match=r"1,400 training examples asked for, 'digits' has 1,265 besides validation"):
        open_digits().train(1400, 0)


def test_a_folder_gives_its_classes(folder: Path) -> None:
    source = open_folder(str(folder))
    assert (source.num_classes, source.channels, source.image_size) == (2, 3, 32)
    assert source.limit == 16
    assert source.train(4, 0).labels.bincount().tolist() == [2, 2]


def test_a_folder_is_read_at_the_size_asked_for(folder: Path) -> None:
    small, large = (open_folder(str(folder)).resized(side).test().inputs.float() for side in (16, 32))
    assert small.shape[-2:] == (16, 16)
    torch.testing.assert_close(small.mean((2, 3)), large.mean((2, 3)), rtol=0, atol=10)  # of 0 to 255


def test_a_folder_that_changes_has_another_fingerprint(folder: Path) -> None:
    before = open_folder(str(folder)).fingerprint
    (folder / "cats" / "0.png").unlink()
    assert open_folder(str(folder)).fingerprint != before


def test_an_unreadable_image_is_named_skipped_and_counted(folder: Path) -> None:
    (folder / "cats" / "broken.png").write_bytes(b"no picture")
    source = open_folder(str(folder))
    assert source.notes == ("1 unreadable image skipped: cats/broken.png",)
    assert source.limit == 16


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(DataError, match="folder:nowhere: there is no such folder"):
        open_folder("nowhere")


def test_a_folder_with_one_class(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    with pytest.raises(DataError, match=r"has one class \(cats\); a comparison needs a sub-folder for each"):
        open_folder(str(tmp_path))


def test_an_empty_class(folder: Path) -> None:
    (folder / "birds").mkdir()
    with pytest.raises(DataError, match=r"folder:.*: class 'birds' has no images\. .* add images, or move"):
        open_folder(str(folder))


def test_all_classes_with_too_few_images_are_named_before_one_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, count in (("ants", 0), ("birds", 2), ("eels", 1)):
        (folder / name).mkdir()
        for number in range(count):
            (folder / name / f"{number}.png").touch()
    read: list[Path] = []
    monkeypatch.setattr(image_files, "read_image", read.append)
    told = r"class 'ants' has no images; class 'birds' has 2 images; class 'eels' has 1 image\. Training, val"
    with pytest.raises(DataError, match=told):
        open_folder(str(folder))
    assert not read


def test_all_classes_with_too_few_readable_images_are_named(folder: Path) -> None:
    for name in ("ants", "eels"):
        (folder / name).mkdir()
        for number in range(4):
            (folder / name / f"{number}.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="class 'ants' has no readable images; class 'eels' has no readable images"):
        open_folder(str(folder))


def test_a_class_too_small_to_split(folder: Path) -> None:
    for index in range(6):
        (folder / "cats" / f"{index}.png").unlink()
    with pytest.raises(DataError, match=r"class 'cats' has 2 images\. Training, validation and test need one of each"):
        open_folder(str(folder))


def test_a_folder_that_is_split_already(folder: Path) -> None:
    (folder / "cats").rename(folder / "train")
    (folder / "dogs").rename(folder / "test")
    with pytest.raises(DataError, match=r"is split already; give the folder of one part: folder:.*train"):
        open_folder(str(folder))


def test_an_archive_of_grey_pictures(archive: Save) -> None:
    x, y = np.zeros((20, 8, 8), np.uint8), np.repeat(["a", "b"], 10)
    source = open_npz(archive(x=x, y=y))
    assert (source.num_classes, source.channels, source.image_size) == (2, 1, 8)


def test_float_pictures_become_bytes(archive: Save) -> None:
    source = open_npz(archive(images=np.full((20, 4, 4, 3), 0.5), labels=np.arange(20) % 2))
    assert source.test().inputs.unique().tolist() == [128]


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"a": np.zeros(3)}, "has arrays a; pictures `x` and labels `y` wanted"),
        ({"x": np.zeros((4, 8), np.uint8), "y": np.zeros(4)}, "pictures of shape (4, 8)"),
        ({"x": np.zeros((4, 8, 8), np.int32), "y": np.zeros(4)}, "pictures of type int32"),
        ({"x": np.full((4, 8, 8), 2.0), "y": np.zeros(4)}, "float pictures from 2 to 2"),
        ({"x": np.zeros((4, 8, 8), np.uint8), "y": np.zeros(3)}, "4 pictures but 3 labels"),
        ({"x": np.zeros((4, 8, 8), np.uint8), "y": np.zeros(4)}, "has one class (0.0)"),
        ({"x": np.zeros((0, 8, 8), np.uint8), "y": np.zeros(0)}, "data.npz: pictures of shape (0, 8, 8, 1) are none"),
        ({"x": np.zeros((5, 8, 8), np.uint8), "y": list("abbbb")}, "class 'a' has too few examples"),
        ({"x": np.array([{}], object), "y": np.zeros(1)}, "cannot be read: Object arrays"),
    ],
)
def test_an_archive_that_cannot_be_used(archive: Save, arrays: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=re.escape(text)):
        open_npz(archive(**arrays))


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="cannot be read"):
        open_npz(str(tmp_path / "data.npz"))
    with pytest.raises(DataError, match=r"cannot be read: .*No such file"):
        open_npz(str(tmp_path / "none.npz"))


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"x\.npy is one array; save two with np\.savez"):
        open_npz(str(tmp_path / "x.npy"))


def test_an_empty_file_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "x.npz").touch()
    with pytest.raises(DataError, match=r"x\.npz cannot be read: No data left"):
        open_npz(str(tmp_path / "x.npz"))


def test_an_unknown_source_names_the_near_one() -> None:
    with pytest.raises(DataError, match=r"Unknown source \(card\)\. Did you mean 'cards'\?"):
        open_corpus("card", zoo.info("vit-micro"))


@pytest.mark.parametrize(("text", "usage"), [("folder", "folder:PATH"), ("cards:7", "cards")])
def test_an_argument_missing_or_not_taken(text: str, usage: str) -> None:
    with pytest.raises(DataError, match=f"data source '{text}': write '{usage}'"):
        open_corpus(text, zoo.info("vit-micro"))


def test_every_source_is_described() -> None:
    assert all(spec.description and spec.modality == "vision" for spec in SOURCES)
