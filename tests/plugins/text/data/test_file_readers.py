import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.data.source_options import parse
from zoo.errors import DataError
from zoo.plugins.text.data import file_readers
from zoo.plugins.text.data.file_readers import Row, Sentence

Write = Callable[[str, str | bytes], Path]
PAIR = ("source", "target")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def read_table(*given: Any) -> list[Row]:
    return list(file_readers.read_table(*given))


def read_side_by_side(one: Path, other: Path) -> list[Row]:
    return list(file_readers.read_side_by_side(one, other))


def read_columns(*given: Any) -> list[Sentence]:
    return list(file_readers.read_columns(*given))


def read_lines(*given: Any) -> list[Row]:
    return list(file_readers.read_lines(*given))


def refused(text: str) -> "pytest.RaisesExc[DataError]":
    return pytest.raises(DataError, match=re.escape(text))


def test_tabs_part_two_columns_and_blank_lines_are_nothing(write: Write) -> None:
    rows = read_table(write("a.tsv", "one\teins\r\n\ntwo words\tzwei Wörter\n"), PAIR, {})
    assert [row.values for row in rows] == [("one", "eins"), ("two words", "zwei Wörter")]
    assert rows[1].place.endswith("a.tsv:3")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("one\teins\ntwo\n", "a.tsv:2: 1 column, source<TAB>target wanted"),
        ("a\tb\tc\n", "a.tsv:1: 3 columns, source<TAB>target wanted; name columns by number, such as ?source=1"),
        ("", "a.tsv is empty: it has no examples"),
        ("\n \n", "a.tsv is empty: it has no examples"),
        (b"a\tb\nc\t\xff\n", "a.tsv:2: no UTF-8, invalid start byte at byte 2 of the line"),
    ],
)
def test_a_table_that_cannot_be_read_names_the_line(write: Write, content: str | bytes, said: str) -> None:
    with refused(said):
        read_table(write("a.tsv", content), PAIR, {})


def test_columns_may_be_named_by_number_or_by_a_header(write: Write) -> None:
    path = write("a.tsv", "en\tde\tnote\none\teins\tx\n")
    assert read_table(path, PAIR, {"source": "2", "target": "1"})[1].values == ("eins", "one")
    assert [row.values for row in read_table(path, PAIR, {"source": "de", "target": "note"})] == [("eins", "x")]
    with refused("a.tsv:1: the header has en, de, note, no fr"):
        read_table(path, PAIR, {"source": "en", "target": "fr"})
    with refused("source='0' is no number of a column, from 1"):
        read_table(path, PAIR, {"source": "0"})
    with refused("a.tsv:1: 3 columns, source<TAB>target wanted"):
        read_table(path, PAIR, {"target": "5"})


def test_a_byte_order_mark_is_no_text(write: Write) -> None:
    assert read_table(write("a.tsv", b"\xef\xbb\xbfa\tb\n"), PAIR, {})[0].values == ("a", "b")


def test_csv_has_a_header_and_quotes_over_lines(write: Write) -> None:
    path = write("a.csv", 'id,text,label\n1,"so, ""good""\nindeed",yes\n2,bad,no\n')
    assert [row.values for row in read_table(path, ("text", "label"), {})] == [
        ('so, "good"\nindeed', "yes"),
        ("bad", "no"),
    ]
    with refused("a.csv:1: the header has id, text, label, no source and no target"):
        read_table(path, PAIR, {})
    with refused("b.csv:3: 1 column, the header has 2"):
        read_table(write("b.csv", "text,label\na,b\nc\n"), ("text", "label"), {})
    with refused("c.csv:2: a quote is opened in the row that begins here and not closed by line 2 (unexpected end"):
        read_table(write("c.csv", 'text,label\n"a,b\n'), ("text", "label"), {})
    with refused("d.csv is empty"):
        read_table(write("d.csv", "text,label\n"), ("text", "label"), {})


def test_json_lines_have_keys(write: Write) -> None:
    path = write("a.jsonl", '{"en": "one", "de": "eins", "id": 1}\n\n{"de": "zwei", "en": "two"}\n')
    options = {"source": "en", "target": "de"}
    assert [row.values for row in read_table(path, PAIR, options)] == [("one", "eins"), ("two", "zwei")]
    with refused("a.jsonl:1: no 'source' among en, de, id"):
        read_table(path, PAIR, {})
    with refused("a.jsonl:1: id=1 is no text"):
        read_table(path, PAIR, {"source": "id", "target": "de"})
    with refused("b.jsonl:2: no JSON: Expecting"):
        read_table(write("b.jsonl", '{"source": "a", "target": "b"}\n{source}\n'), PAIR, {})
    with refused("c.jsonl:1: no JSON object with source and target"):
        read_table(write("c.jsonl", "[1]\n"), PAIR, {})


def test_an_unknown_ending(write: Write) -> None:
    with refused("a table ends in one of .tsv, .csv, .jsonl, not '.xlsx'"):
        read_table(write("a.xlsx", "a"), PAIR, {})


def test_two_files_belong_together_line_by_line(write: Write) -> None:
    one, other = write("a.en", "one\n\nthree\n"), write("a.de", "eins\n\ndrei")
    assert [row.values for row in read_side_by_side(one, other)] == [("one", "eins"), ("three", "drei")]
    assert read_side_by_side(one, other)[1].place == f"{one}:3"
    write("a.de", "eins\nzwei\n")
    with refused(f"{one} has 3 lines, {other} has 2: line by line they belong together, and {one}:3 has no counter"):
        read_side_by_side(one, other)
    with refused(f"and {one}:3 has no counterpart"):
        read_side_by_side(other, one)
    with refused("are empty"):
        read_side_by_side(write("b.en", ""), write("b.de", ""))


def test_a_quote_that_is_not_closed_is_named_where_it_is_opened(write: Write) -> None:
    rows = "".join(f"line {number},no\n" for number in range(4, 7))
    with refused("a.csv:3: a quote is opened in the row that begins here and not closed by line 6"):
        read_table(write("a.csv", f'text,label\ngood,yes\n"bad,no\n{rows}'), ("text", "label"), {})
    with refused("b.csv:2: a quote is opened in the row that begins here and not closed by line 3 (field larger"):
        read_table(write("b.csv", 'text,label\n"a,b\n' + 150_000 * "c"), ("text", "label"), {})
    with refused("c.csv:2: ',' expected after '\"'; a quote within quotes is written twice"):
        read_table(write("c.csv", 'text,label\n"a "b" c",yes\n'), ("text", "label"), {})


def test_a_header_where_none_is_wanted_is_no_example(write: Write) -> None:
    path = write("a.tsv", "Text\tLabel\ngood\tyes\n")
    with refused(
        "a.tsv:1: Text<TAB>Label reads like a header, and a .tsv has none: name its columns, as in a.tsv?text="
    ):
        read_table(path, ("text", "label"), {})
    assert [row.values for row in read_table(path, ("text", "label"), {"text": "Text", "label": "Label"})] == [
        ("good", "yes")
    ]
    assert len(read_table(path, ("text", "label"), {"text": "1", "label": "2"})) == 2
    assert len(read_table(write("b.tsv", "text\tTexte\nsource\ttarget\n"), PAIR, {})) == 2


def test_a_table_without_the_header_it_needs_says_how_columns_are_named(write: Write) -> None:
    told = "no text and no label: the first line names the columns; where they are called otherwise, write a.csv?text="
    with refused(f"a.csv:1: the header has good, yes, {told}"):
        read_table(write("a.csv", "good,yes\nbad,no\n"), ("text", "label"), {})


def test_only_line_feeds_part_lines(write: Write) -> None:
    odd = "a\u2028b\x0bc"
    assert read_lines(write("a.txt", f"{odd}\nd"), {})[0].values == (odd,)


def test_columns_of_words_and_labels_with_blank_lines_between_sentences(write: Write) -> None:
    path = write("a.conll", "-DOCSTART- -X- O\n\nThe DT O\n# NN O\n\n\nBonn NNP B-LOC\n")
    first, second = read_columns(path, {})
    assert (first.words, first.tags) == (("The", "#"), ("O", "O"))
    assert (second.words, second.tags) == (("Bonn",), ("B-LOC",))
    assert (first.place, second.place) == (f"{path}:3", f"{path}:7")
    assert read_columns(path, {"token": "1", "tag": "2"})[0].tags == ("DT", "NN")


def test_universal_dependencies_have_comments_and_words_that_stand_for_several(write: Write) -> None:
    lines = [
        "# text = al mare",
        "1-2\tal\t_\t_",
        "1\ta\ta\tADP",
        "2\til\til\tDET",
        "2.1\tx\tx\tX",
        "3\tmare\tmare\tNOUN",
    ]
    (sentence,) = read_columns(write("a.conllu", "\n".join(lines)), {})
    assert sentence[:2] == (("a", "il", "mare"), ("ADP", "DET", "NOUN"))


def test_columns_that_are_missing(write: Write) -> None:
    with refused("a.conll:2: 1 column, 2 wanted: word … label"):
        read_columns(write("a.conll", "a X\nb\n"), {})
    with refused("a.conll:1: 2 columns, 4 wanted"):
        read_columns(write("a.conll", "a X\n"), {"tag": "4"})
    with refused("a.conll is empty: it has no sentences"):
        read_columns(write("a.conll", "\n\n"), {})


def test_lines_are_texts(write: Write) -> None:
    assert [row.values[0] for row in read_lines(write("a.txt", "a b\n\n c\n"), {})] == ["a b", " c"]
    assert read_lines(write("a.jsonl", '{"body": "x"}\n'), {"text": "body"})[0].values == ("x",)
    with refused("b.txt is empty: it has no lines of text"):
        read_lines(write("b.txt", "\n"), {})
    with refused("c.txt:2: no UTF-8"):
        read_lines(write("c.txt", b"a\n\xe9t\xe9\n"), {})


def test_options_stand_behind_a_question_mark() -> None:
    assert parse("a.tsv?source=en&target=de", PAIR) == ("a.tsv", {"source": "en", "target": "de"})
    assert parse("a.tsv", PAIR) == ("a.tsv", {})
    with refused("'a.tsv?sorce=en': ?sorce=en is not understood; options are source, target"):
        parse("a.tsv?sorce=en", PAIR)


def test_token_and_tag_are_named_one_by_one(write: Write) -> None:
    path = write("a.conll", "The DT x O\n")
    found = [read_columns(path, options)[0][:2] for options in ({"tag": "2"}, {"token": "3"})]
    assert found == [(("The",), ("DT",)), (("x",), ("O",))]
    universal = write("a.conllu", "1\tThe\tthe\tDET\tDT\n")
    found = [read_columns(universal, options)[0][:2] for options in ({"tag": "5"}, {"token": "3"})]
    assert found == [(("The",), ("DT",)), (("the",), ("DET",))]
    with refused("a.conll:1: 4 columns, 5 wanted: word … label"):
        read_columns(path, {"token": "4"})
    with refused("a.conll: token and tag are both column 1"):
        read_columns(path, {"tag": "1"})


def test_spaces_and_tabs_part_columns_and_no_other_space_does(write: Write) -> None:
    assert read_columns(write("a.conll", " 10\u00a0000  NUM \n"), {})[0][:2] == (("10\u00a0000",), ("NUM",))
    universal = write("a.conllu", "1\t10 000\t_\tNUM\n")
    assert read_columns(universal, {})[0][:2] == (("10 000",), ("NUM",))


@pytest.mark.parametrize(("value", "name"), [('"a"', "a"), ("3", "3"), ("true", "True")])
def test_a_label_is_a_name_or_a_whole_number(write: Write, value: str, name: str) -> None:
    path = write("a.jsonl", f'{{"text": "x", "label": {value}}}\n')
    assert read_table(path, ("text", "label"), {})[0].values == ("x", name)


@pytest.mark.parametrize("value", ["0.5", "null", '["a", "b"]', "{}"])
def test_a_label_that_is_none_names_its_line(write: Write, value: str) -> None:
    path = write("a.jsonl", f'{{"text": "x", "label": "a"}}\n{{"text": "x", "label": {value}}}\n')
    with pytest.raises(DataError, match=r"a.jsonl:2: label=.* is no label: labels are names or whole numbers, one for"):
        read_table(path, ("text", "label"), {})
    with refused("a.jsonl:1: no 'tag' among text, label"):
        read_table(path, ("text", "label"), {"label": "tag"})
    with refused("b.jsonl:1: text=3 is no text"):
        read_table(write("b.jsonl", '{"text": 3, "label": "a"}\n'), ("text", "label"), {})
