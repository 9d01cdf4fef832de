"""A text of the user's own: its windows, its parts, and what counting reaches."""

import itertools
import math
from pathlib import Path

import pytest
import torch

from zoo.bench.attention import text_file
from zoo.bench.attention.text_file import UNKNOWN, TextFile
from zoo.errors import ConfigError, DataError


def written(folder: Path, text: str) -> Path:
    place = folder / "own.txt"
    place.write_text(text, "utf-8")
    return place


def test_each_place_asks_for_the_character_behind_it(tmp_path: Path) -> None:
    task = TextFile(written(tmp_path, "abcdefghij" * 60), 7)
    drawn = task.draw(200, torch.Generator().manual_seed(0))
    assert drawn.ids.shape == drawn.targets.shape == (200, 7)
    assert torch.equal(drawn.ids[:, 1:], drawn.targets[:, :-1])
    told = "".join(task.words[one] for one in drawn.ids[0].tolist())
    assert told in "abcdefghij" * 3
    assert len({tuple(row) for row in drawn.ids.tolist()}) == 10


def test_parts_share_no_character_and_every_window_is_drawn(tmp_path: Path) -> None:
    task = TextFile(written(tmp_path, "a" * 90 + "b" * 5 + "c" * 5), 3)
    parts = [task.of_part(part).draw(50, torch.Generator().manual_seed(0)) for part in range(3)]
    assert [set(part.ids.unique().tolist()) for part in parts] == [{1}, {0}, {0}]
    assert task.words == (UNKNOWN, "a")
    long = TextFile(written(tmp_path, "".join(map(chr, range(0x4E00, 0x4E00 + 100)))), 4)
    firsts = {row[0] for row in long.of_part(2).draw(50, torch.Generator().manual_seed(0)).ids.tolist()}
    assert firsts == {0}
    assert {row[0] for row in long.draw(2000, torch.Generator().manual_seed(0)).ids.tolist()} == set(range(1, 87))


def test_rare_characters_of_a_large_alphabet_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "MOST", 2)
    assert TextFile(written(tmp_path, "aaabbbc" * 20), 3).words == (UNKNOWN, "a", "b")


def test_shortcuts_count_in_the_training_part_what_the_test_shows(tmp_path: Path) -> None:
    task = TextFile(written(tmp_path, "ab" * 90 + "ab" * 5 + "abbb" + "ababab"), 3)
    test = "abbbababab"
    found = task.shortcuts()
    assert found["guessing"] == pytest.approx(1 / 3)
    assert found["the most frequent character"] == pytest.approx(sum(c == "b" for c in test[1:]) / 9)
    assert found["the one that most often follows"] == pytest.approx(7 / 9)


def test_bits_are_those_of_counts_with_one_more(tmp_path: Path) -> None:
    task = TextFile(written(tmp_path, "ab" * 90 + "ab" * 5 + "ab" * 5), 3)
    found, train = task.shortcut_bits(), "ab" * 90
    single = {c: ((train[1:].count(c)) + 1) / (len(train) - 1 + 3) for c in "ab"}
    asked = "ab" * 5
    assert found["frequencies of characters"] == pytest.approx(-sum(math.log2(single[c]) for c in asked[1:]) / 9)
    follow = {"ab": (90 + 3 * single["b"]) / (90 + 3), "ba": (89 + 3 * single["a"]) / (89 + 3)}
    pairs = [one + other for one, other in itertools.pairwise(asked)]
    assert found["frequencies of pairs"] == pytest.approx(-sum(math.log2(follow[pair]) for pair in pairs) / 9)


def test_what_is_no_long_text_is_refused_with_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"own.txt' has 100 characters.* 5: windows of 5 need a text of more than 120"):
        TextFile(written(tmp_path, "a" * 100), 5)
    with pytest.raises(DataError, match="has 0 characters"):
        TextFile(written(tmp_path, ""), 5)
    with pytest.raises(DataError, match=r"nothing\.txt: No such file"):
        TextFile(tmp_path / "nothing.txt", 5)
    with pytest.raises(ConfigError, match="length=0"):
        TextFile(written(tmp_path, "a" * 100), 0)
    (tmp_path / "bytes").write_bytes(b"abc\xff" * 100)
    with pytest.raises(DataError, match="no text in UTF-8: byte 3"):
        TextFile(tmp_path / "bytes", 5)
