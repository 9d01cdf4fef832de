from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo import DataError, ModelSpec
from zoo.plugins.text.data.open_files import open_labelled
from zoo.plugins.text.data.text_folders import class_folders

SPEC = zoo.info("bert-micro")


def write(folder: Path, **counts: int) -> None:
    """Write so many texts of a path, its slashes as two underlines."""
    for name, count in counts.items():
        inner = folder / name.replace("__", "/")
        inner.mkdir(parents=True)
        for number in range(count):
            (inner / f"{number}_7.txt").write_text(f"{inner.parent.name} {inner.name}\nfilm {number}")


def opened(folder: Path, spec: ModelSpec = SPEC) -> Any:
    return open_labelled(str(folder), spec, 0, "byte")


def test_the_folders_of_imdb_are_parts_and_classes_and_the_test_is_kept(tmp_path: Path) -> None:
    write(tmp_path, train__pos=20, train__neg=20, train__unsup=9, test__pos=5, test__neg=5)
    (tmp_path / "train" / "urls_pos.txt").write_text("https://…")
    corpus = opened(tmp_path)
    assert corpus.labels == ["neg", "pos"]
    assert corpus.sizes["test"] == 10
    assert corpus.sizes["train"] + corpus.sizes["validation"] == 40
    assert corpus.sizes["validation"] > 0
    assert "labels (neg, pos), read as a folder for each class, train 40, test 10; validation drawn" in (
        corpus.description
    )
    first = corpus.tokenizer.decode(corpus.rows["test"][0])
    assert first == "test neg\nfilm 0"
    assert corpus.classes["test"].tolist() == [0] * 5 + [1] * 5


def test_all_three_parts_may_be_given_by_other_names(tmp_path: Path) -> None:
    write(tmp_path, train__a=8, train__b=8, val__a=2, val__b=1, test__a=1, test__b=1)
    assert opened(tmp_path).sizes == {"train": 16, "validation": 3, "test": 2}


def test_classes_without_parts_are_split(tmp_path: Path) -> None:
    write(tmp_path, good=30, bad=30)
    corpus = opened(tmp_path)
    assert sum(corpus.sizes.values()) == 60
    assert "validation and test drawn from train" in corpus.description
    assert zoo.data.open_corpus(f"labelled:{tmp_path}", SPEC, 0, "byte").fingerprint == corpus.fingerprint


@pytest.mark.parametrize("form", ["{}", "folder:{}"])
def test_a_path_alone_is_read_so_by_models_that_classify(form: str, tmp_path: Path) -> None:
    write(tmp_path, train__a=8, train__b=8, test__a=1, test__b=1)
    assert zoo.data.open_corpus(form.format(tmp_path), SPEC, 0, "byte").fingerprint == opened(tmp_path).fingerprint


def test_a_part_without_texts_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, train__a=8, train__b=8, val__a=0)
    with pytest.raises(DataError, match="validation has no texts in a folder for each class: add some, or remove it"):
        opened(tmp_path)


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    write(tmp_path, test__a=2, test__b=2)
    with pytest.raises(DataError, match="has folders test of texts by class, and none called train"):
        opened(tmp_path)
    write(tmp_path, train__a=2, train__b=2)
    (tmp_path / "train" / "b" / "1_7.txt").write_text(" \n")
    with pytest.raises(DataError, match=r"1_7\.txt is empty: write its text"):
        opened(tmp_path)


def test_a_label_that_the_training_lacks_is_named(tmp_path: Path) -> None:
    write(tmp_path, train__a=9, train__b=9, test__c=2)
    with pytest.raises(DataError, match="label 'c' is in no training example"):
        opened(tmp_path)


def test_a_folder_of_tables_or_of_one_class_is_no_such_folder(tmp_path: Path) -> None:
    write(tmp_path, only=3)
    assert class_folders(str(tmp_path)) == {}
    write(tmp_path, other=3)
    (tmp_path / "train.tsv").write_text("a\tb\n")
    assert class_folders(str(tmp_path)) == {}
    assert class_folders(str(tmp_path / "train.tsv")) == {}
