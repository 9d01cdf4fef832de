import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zoo.plugins.graph.data.storage.growing_arrays import GrowingArrays, mapped


def rows(count: int, begin: int = 0) -> dict[str, NDArray[Any]]:
    return {"a": np.arange(begin, begin + 2 * count, dtype=np.uint8).reshape(count, 2), "b": np.zeros((count, 0))}


def test_rows_are_given_as_they_were_appended(tmp_path: Path) -> None:
    arrays = GrowingArrays(tmp_path)
    arrays.append(rows(2))
    arrays.append(rows(1, 4))
    arrays.commit({"name": "some"})
    arrays.close()
    found, about = mapped(tmp_path)
    assert found["a"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert found["b"].shape == (3, 0)
    assert about == {"name": "some"}
    assert isinstance(found["a"], np.memmap)


def test_an_interrupted_writing_goes_on_behind_what_was_committed(tmp_path: Path) -> None:
    arrays = GrowingArrays(tmp_path)
    arrays.append(rows(2))
    arrays.commit({"rows": 2})
    arrays.append(rows(9))  # and the process is killed
    arrays.close()
    assert mapped(tmp_path)[0]["a"].shape == (2, 2)
    again = GrowingArrays(tmp_path)
    assert again.about == {"rows": 2}
    again.append(rows(1, 4))
    again.commit({"rows": 3})
    again.close()
    assert mapped(tmp_path)[0]["a"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (tmp_path / "a").stat().st_size == 6


def test_files_that_lack_rows_do_not_count(tmp_path: Path) -> None:
    arrays = GrowingArrays(tmp_path)
    arrays.append(rows(4))
    arrays.commit({"rows": 4})
    arrays.close()
    (tmp_path / "a").write_bytes(b"1")
    again = GrowingArrays(tmp_path)
    assert again.about == {}
    again.append(rows(1))
    again.commit({})
    again.close()
    assert mapped(tmp_path)[0]["a"].tolist() == [[0, 1]]


def test_an_array_without_rows_takes_the_shape_of_the_first_that_come(tmp_path: Path) -> None:
    arrays = GrowingArrays(tmp_path)
    arrays.append({"a": np.zeros((0, 0), np.uint8)})
    arrays.append(rows(1))
    arrays.commit({})
    arrays.close()
    assert mapped(tmp_path)[0]["a"].tolist() == [[0, 1]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_an_error_and_what_was_committed_stays(tmp_path: Path) -> None:
    arrays = GrowingArrays(tmp_path)
    arrays.append(rows(2))
    arrays.commit({"rows": 2})
    arrays._files["a"].close()
    arrays._files["a"] = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115  it closes it
    with pytest.raises(OSError, match="No space") as error:
        arrays.append(rows(1))
    assert error.value.errno == errno.ENOSPC
    arrays.close()
    assert mapped(tmp_path)[0]["a"].tolist() == [[0, 1], [2, 3]]
