"""Options behind what a source takes."""

import pytest

from zoo.data.source_options import parse
from zoo.errors import DataError


def test_a_file_and_its_options_come_apart() -> None:
    assert parse("a b.tsv", ("text",)) == ("a b.tsv", {})
    assert parse("a.tsv?text=1&label=", ("text", "label")) == ("a.tsv", {"text": "1", "label": ""})


@pytest.mark.parametrize("query", ["?colour=red", "?text", "?text=1&colour=red"])
def test_an_unknown_option_is_an_error_that_lists_the_known(query: str) -> None:
    known = ("label",) if query == "?text" else ("text", "label")
    with pytest.raises(DataError, match=f"options are {', '.join(known)}"):
        parse(f"a.tsv{query}", known)
