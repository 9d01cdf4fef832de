import json
from pathlib import Path

import pytest

from zoo.errors import DataError
from zoo.plugins.text.data.label_set_files import LabelSet, read_label_sets

JIGSAW = "id,comment_text,toxic,insult\n7,you fool,1,1\n8,hello,0,0\n9,hmm,-1,\n"


def read(path: Path, content: str, **options: str) -> list[LabelSet]:
    path.write_text(content, encoding="utf-8")
    return [each._replace(place="") for each in read_label_sets(path, options)]


def test_columns_of_jigsaw(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", JIGSAW, text="comment_text", labels="toxic,insult")
    assert found == [
        LabelSet("you fool", ("toxic", "insult")),
        LabelSet("hello", ()),
        LabelSet("hmm", (), ("toxic", "insult")),
    ]


def test_labels_with_a_separator(tmp_path: Path) -> None:
    wanted = [LabelSet("one", ("a", "b")), LabelSet("two", ())]
    assert read(tmp_path / "a.tsv", "one\ta|b\ntwo\t\n", separator="|") == wanted
    assert read(tmp_path / "b.tsv", "s\ttags\none\ta|b\ntwo\t\n", separator="|", text="s", label="tags") == wanted
    assert read(tmp_path / "a.csv", "text,label\none,a|b\ntwo,\n", separator="|") == wanted


def test_json_lines_hold_lists(tmp_path: Path) -> None:
    rows = [{"text": "one, two", "label": ["a, b", "c"]}, {"text": "three", "label": []}]
    found = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)), separator=";")
    assert found == [LabelSet("one, two", ("a, b", "c")), LabelSet("three", ())]
    one = read(tmp_path / "c.jsonl", '{"text": "x", "label": ["bonds, rates"]}', separator=",")
    assert one == [LabelSet("x", ("bonds, rates",))]
    unknown = read(tmp_path / "d.jsonl", '{"text": "x", "a": null, "b": 1.0}', labels="a,b")
    assert unknown == [LabelSet("x", ("b",), ("a",))]
    columns = read(tmp_path / "b.jsonl", '{"text": "x", "a": 1, "b": false}', labels="a,b")
    assert columns == [LabelSet("x", ("a",))]


def test_a_cell_that_is_no_label_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.csv:3: toxic='yes!'"):
        read(tmp_path / "a.csv", "text,toxic,rude\nx,1,0\ny,yes!,0\n", labels="toxic,rude")
