import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.errors import DataError
from zoo.plugins.vision.data import open_npz

Save = Callable[..., str]


@pytest.fixture
def archive(tmp_path: Path) -> Save:
    def save(**arrays: Any) -> str:
        np.savez(tmp_path / "data.npz", **arrays)
        return str(tmp_path / "data.npz")

    return save


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
        ({"x": np.zeros((4, 8, 8), complex), "y": np.zeros(4)}, "pictures of type complex128"),
        (
            {"x": np.full((4, 8, 8), 300.0), "y": np.zeros(4)},
            "float64 pictures from 300 to 300; 0 … 1 or 0 … 255 wanted",
        ),
        ({"x": np.zeros((4, 8, 8), np.uint8), "y": np.zeros(3)}, "4 pictures but 3 labels"),
        ({"x": np.zeros((4, 8, 8), np.uint8), "y": np.zeros(4)}, "has one class (0): give examples of at least two"),
        ({"x": np.zeros((0, 8, 8), np.uint8), "y": np.zeros(0)}, "data.npz: pictures of shape (0, 8, 8) are none"),
        ({"x": np.zeros((5, 8, 8), np.uint8), "y": list("abbbb")}, "class 'a' has too few examples"),
        ({"x": np.array([{}], object), "y": np.zeros(1)}, "cannot be read: Object arrays"),
    ],
)
def test_an_archive_that_cannot_be_used(archive: Save, arrays: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=re.escape(text)):
        open_npz(archive(**arrays))


def _claiming(path: Path, shape: tuple[int, ...], held: bytes) -> str:
    """Write an archive whose pictures have this shape by their header, and less in them."""
    with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w") as member:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        member.write(held)
    with zipfile.ZipFile(path, "a") as archive, archive.open("y.npy", "w") as member:
        np.lib.format.write_array(member, np.arange(4) % 2)
    return str(path)


def test_a_shape_that_the_file_does_not_hold_takes_no_memory(tmp_path: Path) -> None:
    text = r"'x' of shape \(4, 1000000, 1000000\) and type uint8 has 4,000,000,000,000 bytes, and the file holds 1"
    with pytest.raises(DataError, match=text):
        open_npz(_claiming(tmp_path / "data.npz", (4, 10**6, 10**6), bytes(64)))


def test_pictures_that_do_not_fit_into_memory_are_refused(archive: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.plugins.vision.data.archive.available_memory", lambda: 1000)
    with pytest.raises(DataError, match="has 1,280 bytes, more than the 1,000 of free memory"):
        open_npz(archive(x=np.zeros((20, 8, 8), np.uint8), y=np.arange(20) % 2))


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


def parts(rng: Any, **counts: int) -> dict[str, Any]:
    return {
        name: (rng.integers(0, 256, (count, 8, 8, 3), dtype=np.uint8), np.arange(count) % 2)
        for name, count in counts.items()
    }


NAMES = {
    "MedMNIST": {"train": "train_{}", "validation": "val_{}", "test": "test_{}"},
    "Keras": {"train": "{}_train", "test": "{}_test"},
}


@pytest.mark.parametrize("style", NAMES)
def test_the_parts_of_an_archive_stay_and_its_test_is_never_trained_on(archive: Save, style: str) -> None:
    found = parts(np.random.default_rng(0), train=30, validation=6, test=10)
    words = ("images", "labels") if style == "MedMNIST" else ("x", "y")
    names = NAMES[style]
    arrays = {names[part].format(word): found[part][at] for part in names for at, word in enumerate(words)}
    if style == "MedMNIST":
        arrays = {name: array[:, None] if array.ndim == 1 else array for name, array in arrays.items()}
    source = open_npz(archive(**arrays))
    test = source.test()
    assert (test.inputs.numpy() == found["test"][0].transpose(0, 3, 1, 2)).all()
    assert test.labels.tolist() == found["test"][1].tolist()
    assert len(source.validation().labels) == (6 if style == "MedMNIST" else 4)
    assert source.limit == (30 if style == "MedMNIST" else 26)
    trained = {picture.tobytes() for picture in source.train(source.limit, 0).inputs.numpy()}
    assert trained <= {picture.tobytes() for picture in found["train"][0].transpose(0, 3, 1, 2)}
    assert not trained & {picture.numpy().tobytes() for picture in source.validation().inputs}


def test_a_capital_letter_names_pictures_too(archive: Save) -> None:
    assert open_npz(archive(X=np.zeros((20, 8, 8), np.uint8), y=np.arange(20) % 2)).num_classes == 2


def test_an_archive_without_validation_pictures_that_says_it_has_some(archive: Save) -> None:
    x, y = np.zeros((20, 8, 8), np.uint8), np.arange(20) % 2
    with pytest.raises(DataError, match="validation has no pictures: leave its arrays out"):
        open_npz(archive(x_train=x, y_train=y, x_val=x[:0], y_val=y[:0]))
