import io
import tarfile
from pathlib import Path

import pytest

from zoo import DataError
from zoo.data.tables.sources.webdataset import open_webdataset

TEN = {
    f"{place:03}.{ending}": text for place in range(10) for ending, text in (("jpg", "x" * 900), ("cls", str(place)))
}


def shard(path: Path, members: dict[str, str]) -> Path:
    with tarfile.open(path, "w") as opened:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            opened.addfile(member, io.BytesIO(text.encode()))
    return path


def test_files_of_one_name_are_an_example(tmp_path: Path) -> None:
    members = {"a/0.front.png": "one", "a/0.json": '{"label": 3}', "a/1.front.png": "two", "a/1.json": '{"label": 4}'}
    shard(tmp_path / "a.tar", members)
    table = open_webdataset(f"{tmp_path}/*.tar", 0)
    assert table.kinds == {"__key__": "text", "front.png": "image", "json.label": "integer"}
    assert list(table.values("json.label")) == [3, 4]
    assert table.file("front.png", 1).read() == b"two"
    assert table.file_name("front.png", 1) == "row 1 (a/1.front.png)"


def test_pictures_stay_in_the_shards_and_are_known_by_their_names(tmp_path: Path) -> None:
    shard(tmp_path / "all.tar", TEN)
    before = open_webdataset(f"{tmp_path}/all.tar", 0).hashes("jpg").tolist()
    half = dict(list(TEN.items())[:10]), dict(list(TEN.items())[10:])
    for place, members in enumerate(half):
        shard(tmp_path / f"half-{place}.tar", members)
    table = open_webdataset(f"{tmp_path}/half-*.tar", 0)
    assert table.hashes("jpg").tolist() == before
    assert table.file("jpg", 9).read() == b"x" * 900
    assert sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*.arrow")) < 10_000


@pytest.mark.parametrize("place", [700, 4_700, 17_920])
def test_a_cut_shard_is_an_error_where_the_library_takes_what_is_left(tmp_path: Path, place: int) -> None:
    import datasets

    whole = shard(tmp_path / "a.tar", TEN).read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:place])
    if place > 10_000:
        told = str(tmp_path / "cut.tar")
        found = datasets.load_dataset("webdataset", data_files=told, split="train", cache_dir=str(tmp_path))
        assert len(found) == 7
    with pytest.raises(
        DataError, match=r"cut\.tar' (is cut or broken after byte|cannot be read: unexpected end of data)"
    ):
        open_webdataset(f"{tmp_path}/cut.tar", 0)


def test_shards_of_different_columns_and_other_files_are_errors(tmp_path: Path) -> None:
    shard(tmp_path / "0.tar", {"0.jpg": "x", "0.cls": "1"})
    shard(tmp_path / "1.tar", {"1.jpg": "x", "1.txt": "1"})
    with pytest.raises(DataError, match=r"1\.tar' has __key__, jpg, txt, and '.*0\.tar' __key__, cls, jpg"):
        open_webdataset(f"{tmp_path}/*.tar", 0)
    (tmp_path / "a.tar").write_text("no tar")
    with pytest.raises(DataError, match=r"a\.tar' cannot be read: .*whole tar files without compression"):
        open_webdataset(f"{tmp_path}/a.tar", 0)
    shard(tmp_path / "b.tar", {})
    with pytest.raises(DataError, match=r"b\.tar' cannot be read|holds no examples"):
        open_webdataset(f"{tmp_path}/b.tar", 0)
    shard(tmp_path / "c.tar", {"0.cls": "cat"})
    with pytest.raises(DataError, match=r"c\.tar' cannot be read: invalid literal"):
        open_webdataset(f"{tmp_path}/c.tar", 0)
