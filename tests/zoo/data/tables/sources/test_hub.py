import shutil
from pathlib import Path
from typing import Any

import pytest

from zoo import DataError
from zoo.data.tables.sources.hub import open_hf


@pytest.fixture
def repository(parquet: Any, tmp_path: Path) -> Path:
    """Make a local repository with the parts train and dev, and an extra one."""
    for split, values in (("train", ["a", "b", "c"]), ("dev", ["d"]), ("more", ["e", "f"])):
        parquet(f"repo/data/{split}-00000-of-00001.parquet", x=values)
    (tmp_path / "repo/README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        + "".join(f"  - split: {split}\n    path: data/{split}-*\n" for split in ("train", "dev", "more"))
        + "---\n"
    )
    return tmp_path / "repo"


def values(argument: str) -> dict[str, list[str]]:
    table = open_hf(argument, 0)
    return {part: list(table.values("x", part)) for part in table.sections}


def test_the_splits_of_a_repository_are_found_by_their_usual_names(repository: Path) -> None:
    assert values(str(repository)) == {"train": ["a", "b", "c"], "validation": ["d"]}


def test_splits_can_be_named_and_sliced(repository: Path) -> None:
    assert values(f"{repository}?split=more&test=train[:2]") == {
        "train": ["e", "f"],
        "validation": ["d"],
        "test": ["a", "b"],
    }
    with pytest.raises(DataError, match=r"there is no split 'mroe' for split; it has train, dev, more"):
        open_hf(f"{repository}?split=mroe", 0)


def test_a_folder_of_class_folders_is_read_by_the_library(tmp_path: Path) -> None:
    from PIL import Image

    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (2, 2)).save(tmp_path / "pets" / name / "0.png")
    table = open_hf(f"{tmp_path}/pets", 0)
    assert table.kinds == {"image": "image", "label": "class"}
    assert table.file("image", 0) == tmp_path / "pets/cat/0.png"


def test_the_parts_of_a_folder_that_moves_stay(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "pets/cat").mkdir(parents=True)
    for place in range(3):
        Image.new("RGB", (2, 2)).save(tmp_path / f"pets/cat/{place}.png")
    before = open_hf(f"{tmp_path}/pets", 0).hashes("image").tolist()
    shutil.move(tmp_path / "pets", tmp_path / "moved")
    assert open_hf(f"{tmp_path}/moved", 0).hashes("image").tolist() == before


def test_a_repository_whose_parts_order_their_classes_differently_is_refused(parquet: Any, tmp_path: Path) -> None:
    import datasets

    parquet("repo/train.parquet", {"y": datasets.ClassLabel(names=["a", "b"])}, y=[0, 1])
    parquet("repo/test.parquet", {"y": datasets.ClassLabel(names=["b", "a"])}, y=[0, 1])
    with pytest.raises(DataError, match=r"classes of 'y' in another order than other files .* as parquet:GLOB"):
        open_hf(f"{tmp_path}/repo", 0)


def test_what_is_not_there_is_an_error(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"hf:nobody/nothing cannot be read: .*nobody/nothing"):
        open_hf("nobody/nothing", 0)
    with pytest.raises(DataError, match=r"'other' not found\. Available: \['default'\]"):
        open_hf(f"{repository}:other", 0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"is empty: it holds no files"):
        open_hf(f"{tmp_path}/empty", 0)


def test_a_file_that_is_added_changes_the_fingerprint(repository: Path, parquet: Any) -> None:
    before = open_hf(str(repository), 0).fingerprint
    assert open_hf(str(repository), 0).fingerprint == before
    parquet("repo/data/train-00001-of-00001.parquet", x=["g"])
    assert open_hf(str(repository), 0).fingerprint != before


def test_shards_of_other_columns_are_named(parquet: Any, tmp_path: Path) -> None:
    parquet("repo/train-0.parquet", x=["a"], label=["b"])
    parquet("repo/train-1.parquet", x=["a"])
    for options in ("", "?streaming"):
        with pytest.raises(
            DataError, match=r"train-1.parquet' has columns x, and .*train-0.parquet' x, label: shards of"
        ):
            open_hf(f"{tmp_path / 'repo'}{options}", 0)
