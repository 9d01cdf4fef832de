"""Feature vectors in an .npz file."""

import json
from pathlib import Path

import numpy as np
import pytest

from zoo.cli.answering.feature_file import feature_file
from zoo.errors import InputError


def test_rows_and_names_are_read_back_by_numpy(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    names = ["a", "ein längerer Text 🐈", "", "b\tc", "a name of bytes \udcff"]
    with feature_file(tmp_path / "a.npz") as rows:
        for name, row in zip(names, drawn, strict=True):
            rows.add(name, row)
    with np.load(tmp_path / "a.npz") as found:
        assert sorted(found.files) == ["features", "inputs.json"]
        np.testing.assert_array_equal(found["features"], drawn)
        assert json.loads(found["inputs.json"]) == names


def test_a_long_name_takes_its_own_room_only(tmp_path: Path) -> None:
    with feature_file(tmp_path / "a.npz") as rows:
        for name in ("x" * 10_000, *"abcdefgh" * 10):
            rows.add(name, np.zeros(1, np.float32))
    assert (tmp_path / "a.npz").stat().st_size < 15_000


def test_nothing_is_written_without_rows_or_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no input can be read"), feature_file(tmp_path / "a.npz"):
        pass
    with pytest.raises(TypeError), feature_file(tmp_path / "a.npz") as rows:
        rows.add("a", object())
    assert list(tmp_path.iterdir()) == []
