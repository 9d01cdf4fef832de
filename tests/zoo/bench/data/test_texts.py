"""The suite `data`, texts: both sides find the same tokens."""

from pathlib import Path
from typing import Any

import pytest

from zoo.bench.data.texts import tokenized, written


@pytest.mark.parametrize("tokenizer", ["byte", "bpe:300"])
def test_both_sides_find_the_same_tokens(tokenizer: str) -> None:
    built = tokenized(tokenizer, 20_000)
    assert isinstance(built, tuple)
    ours, theirs = built
    assert callable(theirs)
    corpus: Any = ours()
    rows = theirs()["tokens"]
    assert len(rows) == len(Path(written(20_000).name, "lines.txt").read_text().splitlines())
    own = [row[1:-1] for part in corpus.rows.values() for row in part]  # without begin and end
    assert sorted(own) == sorted(rows)


def test_texts_are_written_once_and_as_large_as_asked_for() -> None:
    folder = written(10_000)
    assert written(10_000) is folder
    assert Path(folder.name, "lines.txt").stat().st_size >= 10_000
