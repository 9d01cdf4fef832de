"""Bodies of requests, and options."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import Request

from zoo.serve.refusal import Refusal
from zoo.serve.request_body import LabelOptions, WritingOptions, checked, read_body


def read(body: bytes, headers: dict[str, str], query: bytes = b"") -> tuple[list[Any], dict[str, Any]]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return asyncio.run(read_body(Request({"type": "http", "headers": pairs, "query_string": query}, receive)))


def kind(text: str) -> dict[str, str]:
    return {"content-type": text}


def test_json_has_one_input_or_several_and_options() -> None:
    body = json.dumps({"inputs": ["a", {"edges": []}], "top": 2}).encode()
    assert read(body, kind("application/json; charset=utf-8")) == (["a", {"edges": []}], {"top": 2})
    assert read(b'{"input": "a"}', kind("application/json"), b"top=3") == (["a"], {"top": "3"})
    assert read(b'{"input": null}', kind("application/json")) == ([None], {})


def test_forms_have_files_and_fields(form_of: Callable[..., Any]) -> None:
    body, headers = form_of(b"one", b"two", top="2", input="a text")
    inputs, options = read(body, headers)
    assert [inputs[0], *(each.read() for each in inputs[1:])] == ["a text", b"one", b"two"]
    assert str(inputs[1]) == "0.png"
    assert options == {"top": "2"}


def test_plain_lines_are_inputs_and_any_other_body_is_one_file() -> None:
    assert read("é\nb\n".encode(), kind("text/plain")) == (["é", "b"], {})
    ((upload,), _) = read(b"\x00", kind("image/png"))
    assert upload.read() == b"\x00"


@pytest.mark.parametrize(
    ("body", "content", "status", "text"),
    [
        (b"{", "application/json", 400, "the body is no JSON"),
        (b"[" * 100_000, "application/json", 400, "the body is no JSON"),
        (b"\xff", "application/json", 400, "the body is no UTF-8 at byte 1"),
        (b"[]", "application/json", 422, 'send {"inputs": '),
        (b'{"input": 1, "inputs": [1]}', "application/json", 422, 'send {"inputs": '),
        (b'{"inputs": "a"}', "application/json", 422, '"inputs" is a list'),
        (b'{"inputs": []}', "application/json", 422, "there are no inputs"),
        (b"", "image/png", 422, "there are no inputs"),
        (b"a=b", "application/x-www-form-urlencoded", 415, "send application/json"),
        (b"a", "", 415, "Content-Type is missing"),
        (b"--end\r\n\r\nbroken", "multipart/form-data; boundary=end", 400, ""),
        (b"x", "multipart/form-data", 400, ""),
    ],
)
def test_a_body_that_is_none_is_refused(body: bytes, content: str, status: int, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read(body, kind(content))
    assert refused.value.status == status
    assert text in refused.value.text


def test_options_are_checked_and_given_as_they_were_set() -> None:
    assert checked(LabelOptions, {"top": "3"}) == {"top": 3}
    assert checked(WritingOptions, {"beam": 4, "temperature": 0.5}) == {"beam": 4, "temperature": 0.5}
    for stop, wanted in (("END", ("END",)), (["a", "b"], ("a", "b"))):
        assert checked(WritingOptions, {"stop": stop}) == {"stop": wanted}
    for kind, given, text in (
        (WritingOptions, {"stop": []}, "stop=.*at least 1 item"),
        (WritingOptions, {"stop": [""]}, "stop.0='': String should have at least 1 character"),
        (WritingOptions, {"repetition_penalty": 0}, "repetition_penalty=0: Input should be greater than 0"),
        (LabelOptions, {"top": 0}, "top=0: Input should be greater than or equal to 1"),
        (LabelOptions, {"tpo": 1}, r"there is no option 'tpo'. Did you mean 'top'\? Options are: top"),
        (WritingOptions, {"beam": "many"}, "beam='many': Input should be a valid integer"),
        (WritingOptions, {"temperature": float("nan")}, "temperature=nan"),
    ):
        with pytest.raises(Refusal, match=text):
            checked(kind, given)
