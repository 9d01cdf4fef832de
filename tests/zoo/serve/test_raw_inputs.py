"""Raw inputs of requests."""

import base64
import re
from typing import Any

import numpy as np
import pytest
import torch

from zoo.errors import InputError
from zoo.serve.raw_inputs import Upload, check_amount, raw_input
from zoo.serve.refusal import Refusal


def test_texts_pairs_objects_and_numbers_become_what_preprocessing_reads() -> None:
    assert raw_input("a text", 1, False) == "a text"
    assert raw_input(["a", "b"], 1, False) == ("a", "b")
    assert raw_input({"edges": [[0, 1]]}, 1, False) == '{"edges": [[0, 1]]}'
    assert torch.equal(raw_input([[1, 2.5]], 1, True), torch.tensor([[1, 2.5]]))


def test_pixels_are_bytes() -> None:
    found = raw_input([[[0, 128, 255]]], 1, True, "uint8")
    assert (found.dtype, found.tolist()) == (np.uint8, [[[0, 128, 255]]])
    for wrong in ([[0.5]], [[256]], [[-1]], [[float("nan")]]):
        with pytest.raises(Refusal, match="input 2: pixels are whole numbers from 0 to 255"):
            raw_input(wrong, 2, True, "uint8")


def test_files_come_as_uploads_or_in_base64_and_are_named_in_errors() -> None:
    upload = Upload(b"data", "a.png")
    assert raw_input(upload, 1, True) is upload
    decoded = raw_input({"base64": base64.b64encode(b"data").decode()}, 3, True)
    assert (decoded.read(), str(decoded), repr(decoded)) == (b"data", "input 3", "'input 3'")


@pytest.mark.parametrize(
    ("item", "reads_files", "text"),
    [
        ("/etc/passwd", True, "none of this machine is opened"),
        ({"path": "/etc/passwd"}, True, "none of this machine is opened"),
        (["/etc/passwd", "b"], True, "none of this machine is opened"),
        (Upload(b"", "a.png"), False, "the model reads no files"),
        ({"base64": "!"}, True, "base64 cannot be decoded"),
        ({"base64": 1}, True, "base64 cannot be decoded"),
        ([[1], [1, 2]], False, "is no array of numbers"),
        ([10**400], False, "is no array of numbers"),
        ([1, "a"], False, "is no array of numbers"),
        (None, False, "is null: send a text"),
        (True, False, "is true: send a text"),
        (["a", "b", "c"], False, "send a text"),
        (42, False, "is 42: send a text"),
        (float("inf"), False, "is Infinity: send a text"),
        (42, True, "none of this machine is opened"),
    ],
)
def test_what_the_model_does_not_read_is_refused(item: Any, reads_files: bool, text: str) -> None:
    with pytest.raises(Refusal, match=text) as refused:
        raw_input(item, 2, reads_files)
    assert refused.value.status == 422
    assert refused.value.text.startswith("input 2")


@pytest.mark.parametrize(
    ("item", "shown"), [({}, "{}"), ({"edges": []}, '{"edges": []}'), ([1, 2.5], "[1, 2.5]"), (["a", 1], '["a", 1]')]
)
def test_a_model_of_texts_takes_neither_objects_nor_arrays(item: Any, shown: str) -> None:
    with pytest.raises(Refusal, match=re.escape(f"input 1 is {shown}: send a text")):
        raw_input(item, 1, False, only_texts=True)
    assert raw_input(["a", "b"], 1, False, only_texts=True) == ("a", "b")


class Counts:
    """Preprocessing that counts."""

    @staticmethod
    def amount(raw: Any) -> tuple[int, str]:
        if raw == "bad":
            raise InputError("it is bad")
        return 11, "pixels"


def test_what_holds_too_much_is_refused() -> None:
    most = {"pixels": 10, "characters": 3}
    for raw, preprocess, text in (
        (Upload(b"", "a"), Counts(), "input 1 has 11 pixels, more than 10"),
        ("four", None, "input 1 has 4 characters, more than 3"),
        (("ab", "cd"), None, "input 1 has 4 characters, more than 3"),
        ("bad", Counts(), "input 1: it is bad"),
    ):
        with pytest.raises(Refusal, match=text):
            check_amount(raw, 1, preprocess, most)
    check_amount("abc", 1, None, most)
    check_amount(Upload(b"", "a"), 1, Counts(), {"pixels": 11})


def test_arrays_are_counted_by_their_shape_before_they_are_prepared() -> None:
    most = {"pixels": 12, "samples": 5}
    for raw, text in (
        (np.zeros((3, 5), np.uint8), "15 pixels, more than 12"),
        (np.broadcast_to(np.uint8(0), (10**6, 10**6, 3)), "1,000,000,000,000 pixels, more than 12"),
        (torch.zeros(6), "6 samples, more than 5"),
    ):
        with pytest.raises(Refusal, match=f"input 2 has {text}") as refused:
            check_amount(raw, 2, Counts(), most)
        assert refused.value.status == 413
    check_amount(np.zeros((3, 4, 3), np.uint8), 1, Counts(), most)
    check_amount(torch.zeros(5), 1, None, most)
