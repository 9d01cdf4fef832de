"""Rows of documents one after another: nothing is lost, nothing asked twice, and each is read as if it were alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from zoo.core import IGNORED
from zoo.data import RaggedIds
from zoo.plugins.text.data.packed_rows import PackedRows, cut

BEGIN, END, PAD = 1, 2, 0
INNER = st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=12), min_size=1, max_size=8)


def documents(inner: list[list[int]]) -> RaggedIds:
    return RaggedIds([[BEGIN, *row, END] for row in inner])


@settings(deadline=None)
@given(INNER, st.integers(1, 15))
def test_every_token_but_the_first_of_each_document_is_asked_once(inner: list[list[int]], length: int) -> None:
    packed = PackedRows(documents(inner), length)
    (ids, numbers), target = packed.batch(range(len(packed)), PAD)
    asked = target != IGNORED
    assert target[asked].tolist() == [token for row in inner for token in (*row, END)]
    assert not (ids[asked] == END).any()
    assert (numbers[asked] > 0).all()
    full = packed.lengths.tolist()
    assert full[:-1] == [packed.length] * (len(packed) - 1)
    assert (numbers > 0).sum(1).tolist() == full
    assert sum(full) == sum(len(row) + 2 for row in inner) - 1


@settings(deadline=None)
@given(INNER, st.integers(1, 15))
def test_a_number_begins_with_each_document(inner: list[list[int]], length: int) -> None:
    packed = PackedRows(documents(inner), length)
    (ids, numbers), _ = packed.batch(range(len(packed)), PAD)
    for row, number in zip(ids, numbers, strict=True):
        begins = (row[1:] == BEGIN) & (number[1:] > 0)
        assert (number[1:] - number[:-1])[number[1:] > 0].tolist() == begins[number[1:] > 0].long().tolist()
        assert number[0] == 1


@pytest.mark.parametrize("position", ["rotary", "learned"])
def test_scores_are_those_of_each_document_alone(position: str) -> None:
    torch.manual_seed(0)
    model = zoo.create("decoder-tiny", position=position, max_len=64, dim=32, mlp_dim=64).double().eval()
    inner = [torch.randint(4, 260, (length,)).tolist() for length in (5, 30, 1, 70, 12, 3)]
    packed = PackedRows(documents(inner), 64)
    ids, numbers = packed.batch(range(len(packed)), PAD).inputs
    with torch.no_grad():
        scores = model(ids, numbers)
        for row, documents_of in enumerate(numbers):
            for number in documents_of[documents_of > 0].unique():
                own = documents_of == number
                alone = model(ids[row : row + 1, own])[0]
                torch.testing.assert_close(scores[row, own], alone, atol=1e-10, rtol=0)


def test_texts_shorter_than_a_row_make_a_shorter_row() -> None:
    packed = PackedRows(documents([[5]]), 100)
    (ids, numbers), target = packed.batch([0], PAD)
    assert (len(packed), packed.lengths.tolist()) == (1, [2])
    assert (ids.tolist(), numbers.tolist(), target.tolist()) == ([[1, 5]], [[1, 1]], [[5, 2]])


@settings(deadline=None)
@given(INNER, st.integers(1, 6), st.integers(0, 1))
def test_pieces_are_those_of_a_loop(rows: list[list[int]], length: int, overlap: int) -> None:
    pieces = cut(RaggedIds(rows), length, overlap)
    wanted = [row[at : at + length + overlap] for row in rows for at in range(0, len(row) - overlap, length)]
    assert [pieces[place] for place in range(len(pieces))] == wanted


def test_rows_without_tokens_give_no_piece() -> None:
    assert len(cut(RaggedIds([[], [3]]), 4)) == 1
