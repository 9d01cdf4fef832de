"""Tasks by their text, those of the user's data among them."""

from pathlib import Path

import pytest

from zoo.bench.attention.own_data import content_of, is_own, parts_of, split_length, task_of
from zoo.bench.attention.text_file import TextFile
from zoo.data.sequences import Neighbours
from zoo.errors import ConfigError


def test_the_length_stands_behind_a_comma() -> None:
    assert split_length("text:a.txt,512") == ("text:a.txt", 512)
    assert split_length("text:a,b.txt") == ("text:a,b.txt", 256)
    with pytest.raises(ConfigError, match="text:a,0"):
        split_length("text:a,0")


def test_a_rule_is_no_data_and_has_the_same_source_in_all_parts() -> None:
    assert is_own("text:a")
    assert not is_own("mqar:2,16")
    assert not is_own("induction")
    assert set(parts_of(task_of("neighbours:8"))) == {Neighbours(length=8)}


def test_the_parts_of_data_differ_and_its_content_is_known(tmp_path: Path) -> None:
    for name, text in {"one": "ab" * 300, "two": "ab" * 300, "three": "ac" * 300}.items():
        (tmp_path / name).write_text(text)
    one, two, three = (content_of(f"text:{tmp_path / name},4") for name in ("one", "two", "three"))
    assert one == two != three
    task = task_of(f"text:{tmp_path / 'one'},4")
    assert parts_of(task) == tuple(TextFile(tmp_path / "one", 4, part) for part in range(3))
