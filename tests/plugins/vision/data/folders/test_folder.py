import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from zoo.errors import DataError
from zoo.plugins.vision.data import open_folder
from zoo.plugins.vision.data.folders import folder as folder_module
from zoo.plugins.vision.data.folders.lazy_images import ImageReader
from zoo.plugins.vision.image_source import Examples

Draw = Callable[..., Path]


@pytest.fixture
def folder(draw: Draw) -> Path:
    return draw({"cats": 8, "dogs": 12})


def read(part: Examples) -> torch.Tensor:
    assert not isinstance(part.inputs, torch.Tensor)
    return part.inputs.read(torch.arange(len(part.labels)))[0]


def test_a_folder_gives_its_classes(folder: Path) -> None:
    source = open_folder(str(folder))
    assert (source.num_classes, source.channels, source.image_size) == (2, 3, 32)
    assert source.limit
    assert sum(len(part.labels) for part in (source.train(source.limit, 0), source.validation(), source.test())) == 20
    assert source.train(4, 0).labels.bincount().tolist() == [2, 2]


def test_opening_reads_no_more_than_the_sample(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = ImageReader.whole

    def counted(self: ImageReader, place: int) -> Any:
        read.append(place)
        return whole(self, place)

    monkeypatch.setattr(folder_module, "_SAMPLE", 5)
    monkeypatch.setattr(ImageReader, "whole", counted)
    open_folder(str(folder))
    assert len(read) == 5
    open_folder(str(folder))
    assert len(read) == 5


def test_mean_and_deviation_are_those_of_the_pictures_with_a_cache_or_without(folder: Path) -> None:
    source = open_folder(str(folder))
    pool = read(source.splits["train"]).double() / 255
    assert source.mean == pytest.approx(float(pool.mean()), abs=1e-9)
    assert source.deviation == pytest.approx(float(pool.std(correction=0)), abs=1e-9)
    other = source.cached(False)
    assert (other.mean, other.deviation) == (source.mean, source.deviation)


def test_a_folder_is_read_at_the_size_asked_for(folder: Path) -> None:
    small, large = (read(open_folder(str(folder)).resized(side).test()).float() for side in (16, 32))
    assert small.shape[-2:] == (16, 16)
    torch.testing.assert_close(small.mean((2, 3)), large.mean((2, 3)), rtol=0, atol=10)  # of 0 to 255


def test_a_cache_changes_no_picture(folder: Path) -> None:
    decoded, cached = (open_folder(str(folder)).cached(wanted) for wanted in (False, True))
    assert decoded.reader.cache is None
    assert cached.reader.cache is not None
    assert not cached.reader.cache.missing(np.arange(20)).any()
    for part in ("train", "validation", "test"):
        assert torch.equal(read(decoded.splits[part]), read(cached.splits[part]))


def test_a_folder_that_changes_has_another_fingerprint(folder: Path) -> None:
    before = open_folder(str(folder)).fingerprint
    (folder / "cats" / "0.png").unlink()
    assert open_folder(str(folder)).fingerprint != before


def test_pictures_that_cannot_be_read_are_named_when_they_are_met(folder: Path) -> None:
    (folder / "cats" / "broken.png").write_bytes(b"no picture")
    source = open_folder(str(folder)).cached(True)
    assert source.notes == ("1 unreadable image skipped so far: cats/broken.png",)
    assert open_folder(str(folder)).notes == source.notes


def test_a_folder_without_a_readable_picture(folder: Path) -> None:
    for path in folder.rglob("*.png"):
        path.write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"none of \d+ training pictures can be read \(cannot identify image file"):
        open_folder(str(folder))


def test_a_folder_goes_to_other_processes(folder: Path) -> None:
    source = open_folder(str(folder))
    copy = pickle.loads(pickle.dumps(source))
    assert torch.equal(read(copy.test()), read(source.test()))


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(DataError, match="folder:nowhere: there is no such folder"):
        open_folder("nowhere")
