from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
import torch
import zoo_point_clouds.plugin
from zoo_point_clouds.data import read_cloud, turned
from zoo_point_clouds.shapes import SHAPES, draw

import zoo
from zoo import DataError, InputError, Registry
from zoo.data import open_corpus
from zoo.registry import using
from zoo.testing import PluginConformance


class TestPoints(PluginConformance):
    plugin = zoo_point_clouds.plugin


@pytest.fixture(autouse=True)
def _only_this() -> Iterator[None]:
    with using(Registry([zoo_point_clouds.plugin], autoload=False)):
        yield


@pytest.mark.parametrize("name", ["cloud-tiny", "cloud-net-tiny"])
def test_place_and_scale_of_a_cloud_change_no_answer(name: str) -> None:
    torch.manual_seed(0)
    model = zoo.create(name).eval()
    points, lengths = zoo.example(name)
    torch.testing.assert_close(model(7 * points + 3, lengths), model(points, lengths), rtol=1e-3, atol=1e-4)


def test_a_turn_keeps_distances_and_heights() -> None:
    points = torch.randn(9, 3)
    other = turned(points, torch.Generator().manual_seed(1))
    torch.testing.assert_close(torch.cdist(other, other), torch.cdist(points, points))
    assert torch.equal(other[:, 2], points[:, 2])
    assert not torch.allclose(other, points)


def write(folder: Path, count: int = 10) -> None:
    generator = torch.Generator().manual_seed(0)
    for shape in SHAPES:
        (folder / shape).mkdir(parents=True)
        for place in range(count):
            rows = draw(shape, 20, generator).tolist()
            text = "\n".join(" ".join(f"{x:.3f}" for x in [*row, 255]) for row in rows)
            (folder / shape / f"{place}.xyz").write_text(text)


def test_files_are_split_and_batched(tmp_path: Path) -> None:
    write(tmp_path / "own")
    corpus = open_corpus(f"clouds:{tmp_path / 'own'}", zoo.info("cloud-tiny"))
    assert sum(corpus.sizes.values()) == 40
    (points, lengths), target = corpus.batch(torch.arange(6), torch.Generator())
    assert points.shape == (6, 20, 3)
    assert lengths.tolist() == [20] * 6
    assert corpus.labels == sorted(SHAPES)
    assert target.max() < 4


def test_data_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="make a folder for each class"):
        open_corpus(f"clouds:{tmp_path}", zoo.info("cloud-tiny"))
    with pytest.raises(DataError, match="shapes:3: give a number"):
        open_corpus("shapes:3", zoo.info("cloud-tiny"))
    (tmp_path / "a.xyz").write_text("1 2\n")
    with pytest.raises(InputError, match=r"a\.xyz"):
        read_cloud(tmp_path / "a.xyz")


def test_a_cloud_that_was_uploaded_is_read_as_one_of_the_disk() -> None:
    points, lengths = zoo.preprocess("cloud-tiny")([BytesIO(b"1 2 3 255\n4 5 6 0\n")])
    assert points.tolist() == [[[1, 2, 3], [4, 5, 6]]]
    assert lengths.tolist() == [2]


@pytest.mark.slow
def test_shapes_are_learned_and_files_predicted(tmp_path: Path) -> None:
    trained = zoo.train("cloud-tiny", "shapes", out=tmp_path / "run", steps=120, seed=0)
    assert trained.scores["accuracy"] > 0.6  # by chance a quarter
    write(tmp_path / "own", count=1)
    ((_, answer),) = zoo.Pipeline(str(tmp_path / "run")).predict([str(tmp_path / "own" / "ring" / "0.xyz")])
    assert {*answer} == {*SHAPES}
