import re
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
