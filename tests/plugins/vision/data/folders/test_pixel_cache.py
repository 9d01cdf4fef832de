import errno
import os
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.plugins.vision.data.folders import pixel_cache
from zoo.plugins.vision.data.folders.folder_index import FolderIndex
from zoo.plugins.vision.data.folders.pixel_cache import PixelCache, cache_file, open_cache

Draw = Callable[..., Path]


@pytest.fixture
def index(draw: Draw) -> FolderIndex:
    return FolderIndex.open(draw({"cats": 5, "dogs": 4}))


def pixels(value: int, size: int = 4) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    return np.full((size, size, 3), value, np.uint8)


def filled(index: FolderIndex) -> PixelCache:
    cache = PixelCache(index, 4)
    for place in range(len(index)):
        cache.put(place, pixels(10 + place))
    return cache


def value(cache: PixelCache, place: int) -> int | None:
    found = cache.get(place)
    return None if found is None else int(found[0, 0, 0])


def test_what_one_process_writes_another_reads(index: FolderIndex) -> None:
    one, other = PixelCache(index, 4), PixelCache(index, 4)
    assert one.get(3) is None
    one.put(3, pixels(7))
    assert value(other, 3) == 7
    assert value(pickle.loads(pickle.dumps(one)), 3) == 7
    assert np.flatnonzero(other.missing(np.arange(9))).tolist() == [0, 1, 2, 4, 5, 6, 7, 8]


def test_pixels_are_a_copy_that_may_be_written_to(index: FolderIndex) -> None:
    cache = filled(index)
    found = cache.get(3)
    assert found is not None
    found[:] = 0
    assert value(cache, 3) == 13


def test_a_changed_file_is_decoded_again_and_an_added_one_appended(index: FolderIndex) -> None:
    filled(index)
    os.utime(index.path(1), ns=(0, 0))
    shutil.copy(index.path(0), index.root / "cats" / "new.png")
    index.path(7).unlink()
    again = FolderIndex.open(index.root)
    cache = PixelCache(again, 4)
    assert [again.name(place) for place in np.flatnonzero(cache.missing(np.arange(len(again)))).tolist()] == [
        b"cats/1.png",
        b"cats/new.png",
    ]
    assert [value(cache, place) for place in range(9)] == [10, None, 12, 13, 14, None, 15, 16, 18]
    cache.put(1, pixels(99))
    assert value(PixelCache(again, 4), 1) == 99
    assert value(PixelCache(again, 4), 0) == 10


def test_pictures_that_are_gone_are_given_up_when_they_are_most(index: FolderIndex) -> None:
    cache = filled(index)
    for turn in range(3):
        for place in range(9):
            os.utime(index.path(place), ns=(turn, turn))
        PixelCache(FolderIndex.open(index.root), 4)
    assert cache_file(index.root, 4).stat().st_size <= 3 * 9 * 48
    assert [value(cache, place) for place in range(9)] == list(range(10, 19))  # who reads the old file keeps it


def test_pixels_that_did_not_reach_the_disk_are_decoded_again(index: FolderIndex) -> None:
    cache = filled(index)
    with cache.file.open("r+b") as file:
        file.seek(4 * 48)
        file.write(bytes(48))
    assert [value(cache, place) for place in (3, 4, 5)] == [13, None, 15]
    with cache.file.open("r+b") as file:
        file.truncate(100)
    assert value(PixelCache(index, 4), 0) is None


def test_half_a_row_of_the_table_is_overwritten(index: FolderIndex) -> None:
    cache = filled(index)
    with cache.file.with_suffix(".rows").open("ab") as table:
        table.write(b"12345")
    shutil.copy(index.path(0), index.root / "cats" / "new.png")
    cache = PixelCache(FolderIndex.open(index.root), 4)
    cache.put(5, pixels(77))
    assert [value(PixelCache(cache.index, 4), place) for place in (4, 5, 6)] == [14, 77, 15]


def test_another_size_or_version_has_another_file(index: FolderIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(index)
    assert PixelCache(index, 5).get(0) is None
    before = cache_file(index.root, 4)
    monkeypatch.setattr(pixel_cache, "_VERSION", 99)
    with pytest.warns(
        UserWarning, match=f"are decoded again: another version .* wrote '{re.escape(str(before))}'; rem"
    ):
        assert PixelCache(index, 4).missing(np.arange(9)).all()
    PixelCache(index, 4)  # says it once: warnings are errors here


def test_a_limit_of_file_size_ends_the_writing_like_a_full_disk(index: FolderIndex) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 48, limits[1]))
    try:
        with pytest.warns(UserWarning, match=r"not cached in .*File too large.* Set ZOO_CACHE .* or give --no-cache"):
            assert open_cache(index, 4, True) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert open_cache(index, 4, True) is not None, "where there is room again, the cache is made"


def test_a_disk_without_room_drops_the_cache_with_one_warning(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1000, 900, 100))
    with pytest.warns(
        UserWarning, match=r"not cached in .*would take 1 MB, and the disk has 0 MB left\. Set ZOO_CACHE"
    ):
        assert open_cache(index, 4, True) is None


def test_a_disk_that_fills_up_ends_the_writing_with_one_warning(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = PixelCache(index, 4)
    cache.put(0, pixels(1))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        cache.put(1, pixels(2))
    cache.put(2, pixels(3))  # says nothing more: warnings are errors here
    assert [value(cache, place) for place in (0, 1, 2)] == [1, None, None]


def test_a_cache_is_made_where_it_fits_in_a_quarter_of_the_memory(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixel_cache, "available_memory", lambda: 4 * 9 * 48 - 1)
    assert open_cache(index, 4, None) is None
    assert open_cache(index, 4, False) is None
    monkeypatch.setattr(pixel_cache, "available_memory", lambda: 4 * 9 * 48)
    assert open_cache(index, 4, None) is not None
    monkeypatch.setattr(pixel_cache, "available_memory", lambda: None)
    assert open_cache(index, 4, None) is not None, "one that was made before is used"
    assert open_cache(index, 8, None) is None
    assert open_cache(index, 8, True) is not None


def test_a_killed_process_leaves_whole_rows(index: FolderIndex) -> None:
    script = (
        "import os, signal, sys; import numpy as np; from pathlib import Path\n"
        "from zoo.plugins.vision.data.folders.folder_index import FolderIndex\n"
        "from zoo.plugins.vision.data.folders.pixel_cache import PixelCache\n"
        "cache = PixelCache(FolderIndex.open(Path(sys.argv[1])), 4)\n"
        "for place in range(3):\n    cache.put(place, np.full((4, 4, 3), 50 + place, np.uint8))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(index.root)], check=False)
    assert done.returncode == -signal.SIGKILL
    cache = PixelCache(index, 4)
    assert [value(cache, place) for place in range(4)] == [50, 51, 52, None]
