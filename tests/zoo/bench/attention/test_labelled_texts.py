"""Labelled texts of the user's own, as sequences whose last token asks."""

from pathlib import Path

import pytest
import torch

from zoo.bench.attention.labelled_texts import LabelledTexts
from zoo.core import IGNORED
from zoo.errors import ConfigError, DataError


def written(folder: Path, rows: list[tuple[str, str]]) -> str:
    (folder / "own.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    return f"labelled:{folder / 'own.tsv'}"


def rows(count: int = 100) -> list[tuple[str, str]]:
    return [
        ("x" * (1 + number % 7) + " " + str(number), ["odd", "even", "even"][number % 3]) for number in range(count)
    ]


def test_the_token_behind_a_text_asks_for_its_class(tmp_path: Path) -> None:
    task = LabelledTexts(written(tmp_path, rows()), 64)
    drawn = task.draw(30, torch.Generator().manual_seed(0))
    asked = drawn.targets != IGNORED
    assert (asked.sum(1) == 1).all()
    assert (asked.nonzero()[:, 1] == drawn.lengths - 1).all()
    assert (drawn.ids[asked] == len(task.words) - 1).all()
    assert all((row[size:] == 0).all() for row, size in zip(drawn.ids, drawn.lengths, strict=True))
    assert drawn.ids.max() == len(task.words) - 1


def test_long_texts_are_cut_and_the_question_stays(tmp_path: Path) -> None:
    task = LabelledTexts(written(tmp_path, rows()), 4)
    drawn = task.draw(30, torch.Generator().manual_seed(0))
    assert drawn.ids.shape == (30, 4)
    assert drawn.lengths.max() == 4
    assert (drawn.targets.amax(1) != IGNORED).all()


def test_held_out_texts_are_drawn_once_each(tmp_path: Path) -> None:
    task = LabelledTexts(written(tmp_path, rows()), 64)
    held = [task.of_part(part).draw(1000, torch.Generator().manual_seed(0)).ids for part in (1, 2)]
    assert all(len(set(map(tuple, ids.tolist()))) == len(ids) < 100 for ids in held)
    share = task.shortcuts()["the most frequent class"]
    assert 0.4 < share < 0.9
    assert task.shortcuts()["guessing"] == 0.5


def test_what_has_no_classes_to_tell_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 label"):
        LabelledTexts(written(tmp_path, [(text, "same") for text, _ in rows()]), 64)
    with pytest.raises(DataError, match=r"nothing\.tsv"):
        LabelledTexts("labelled:nothing.tsv", 64)
    with pytest.raises(ConfigError, match="length=1"):
        LabelledTexts(written(tmp_path, rows()), 1)
    (tmp_path / "lines.txt").write_text("".join(f"a line {number}\n" for number in range(40)))
    with pytest.raises(ConfigError, match="labelled:FILE"):
        LabelledTexts(f"lines:{tmp_path / 'lines.txt'}", 64)
