from pathlib import Path

import pytest

from zoo import DataError
from zoo.data.tables.sources.files import common_root, locate_files, part_of, signature


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(name)


@pytest.mark.parametrize(
    ("name", "part"),
    [("train-00000-of-00002", "train"), ("corpus_dev", "validation"), ("Val", "validation"), ("test", "test")]
    + [(name, "") for name in ("trains", "contest", "a-test-b", "data")],
)
def test_a_part_begins_or_ends_a_name(name: str, part: str) -> None:
    assert part_of(name) == part


def test_files_are_parted_by_name_or_folder_where_all_are(tmp_path: Path) -> None:
    touch(tmp_path, "train-0.csv", "train-1.csv", "val.csv", "test/0.csv")
    found = locate_files("csv", f"{tmp_path}/**/*.csv", {})
    assert {part: [path.name for path in paths] for part, paths in found.items()} == {
        "train": ["train-0.csv", "train-1.csv"],
        "validation": ["val.csv"],
        "test": ["0.csv"],
    }
    touch(tmp_path, "more.csv")
    assert [*locate_files("csv", f"{tmp_path}/**/*.csv", {})] == ["train"]


def test_files_that_are_only_for_a_test_are_learned_from_where_they_are_asked_for(tmp_path: Path) -> None:
    touch(tmp_path, "test-0.csv", "test-1.csv")
    assert [*locate_files("csv", f"{tmp_path}/*.csv", {})] == ["train"]


def test_options_name_other_files(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv", "b.csv")
    found = locate_files("csv", f"{tmp_path}/a.csv", {"test": f"{tmp_path}/b.csv"})
    assert found == {"train": (tmp_path / "a.csv",), "test": (tmp_path / "b.csv",)}
    with pytest.raises(DataError, match=r"a\.csv' is for training and for test"):
        locate_files("csv", f"{tmp_path}/*.csv", {"test": f"{tmp_path}/a.csv"})


def test_a_pattern_without_a_match_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"csv: no file matches '.*\*\.csv'"):
        locate_files("csv", f"{tmp_path}/*.csv", {})
    with pytest.raises(DataError, match=r"is a folder: write a pattern of its files, such as csv:'.*/\*'"):
        locate_files("csv", str(tmp_path), {})


def test_a_signature_changes_with_a_file_and_not_with_its_folder(tmp_path: Path) -> None:
    touch(tmp_path / "one", "a.csv", "b.csv")
    files = locate_files("csv", f"{tmp_path}/one/*.csv", {})
    before = signature(files)
    (tmp_path / "one").rename(tmp_path / "other")
    moved = locate_files("csv", f"{tmp_path}/other/*.csv", {})
    assert signature(moved) == before
    assert common_root(moved) == tmp_path / "other"
    (tmp_path / "other/a.csv").write_text("other words")
    assert signature(moved) != before
