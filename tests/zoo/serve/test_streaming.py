"""Answers that are streamed as server-sent events."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from zoo.pipeline import Pipeline
from zoo.serve import Limits, application, running
from zoo.serve.streaming import event


def read(body: str) -> list[tuple[str, Any]]:
    """Read events as a browser does."""
    found = []
    for block in body.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


def test_events_are_lines_of_json() -> None:
    assert event({"text": "a\nÄ"}) == 'data: {"text": "a\\nÄ"}\n\n'
    assert event({"error": "x"}, "error") == 'event: error\ndata: {"error": "x"}\n\n'


def test_pieces_are_the_answer_of_predict(writing: Any) -> None:
    for options in ({"max_len": 12}, {"max_len": 12, "temperature": 1.0, "seed": 3}):
        sent = {"input": "twelve"} | options
        status, body = writing("/stream", sent)
        assert status == 200, body
        *pieces, (kind, whole) = read(body)
        assert kind == "end"
        assert all(not kind for kind, _ in pieces)
        assert "".join(each["text"] for _, each in pieces) == whole["text"]
        assert whole["text"] == writing("/predict", sent)[1]["answers"][0]["answers"][0]["text"]


def test_streams_and_batches_of_one_model_go_on_together(writing: Any) -> None:
    wanted = read(writing("/stream", {"input": "a", "max_len": 20})[1])
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(read(writing("/stream", {"input": "a", "max_len": 20})[1])))
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    assert writing("/predict", {"input": "b", "max_len": 5})[0] == 200
    for each in threads:
        each.join()
    assert found == [wanted] * 4


def test_what_cannot_be_streamed_is_refused_before_an_answer_begins(writing: Any, pictures: Any) -> None:
    for sent, text in (
        ({"inputs": ["a", "b"]}, "2 inputs: a stream answers one"),
        (
            {"input": "a", "beam": 4},
            "beam=4: /stream writes one answer, token by token; leave beam out, or ask /predict",
        ),
        ({"input": "a", "max_len": 21}, "max_len=21 is more than 20 new tokens"),
        ({"input": "a" * 51}, "input 1 has 51 characters, more than 50"),
        ({"input": "a", "min_len": 7, "max_len": 5}, "min_len=7 is above max_len=5"),
    ):
        status, found = writing("/stream", sent)
        assert status in (413, 422)
        assert text in found["error"]
    assert pictures("/stream", {"input": [[0]]}) == (
        422, {"error": "the model does not write token by token: ask for /predict"}
    )  # fmt: skip


class Endless(Pipeline):
    """Write without end, until it is closed; or fail after some tokens."""

    fails_at = -1
    closed: threading.Event

    def stream(self, raw: Any, **options: Any) -> Iterator[str]:
        try:
            for number in range(10**9):
                if number == self.fails_at:
                    raise RuntimeError("a secret of the model")
                yield f"{number} "
        finally:
            self.closed.set()


@pytest.fixture
def endless(writer: str) -> Endless:
    found = Endless(writer)
    found.closed = threading.Event()
    return found


def opened(url: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", "/stream", b'{"input": "a"}', {"content-type": "application/json"})
    return connection, connection.getresponse()


def test_a_client_that_goes_stops_the_decoding_and_the_next_is_answered(endless: Endless) -> None:
    with running(application(endless, Limits(max_batch=1))) as url:
        connection, reply = opened(url)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.readline() == b'data: {"text": "0 "}\n'
        assert not endless.closed.is_set()
        other, refused = opened(url)
        assert refused.status == 503
        assert b"1 answers are streamed already" in refused.read()
        reply.close()
        connection.close()
        other.close()
        assert endless.closed.wait(60)


def test_an_answer_that_takes_too_long_or_fails_ends_with_an_error(endless: Endless, caplog: Any) -> None:
    with running(application(endless, Limits(timeout=0.5))) as url:
        connection, reply = opened(url)
        *_, last = read(reply.read().decode())
        connection.close()
        assert last == ("error", {"error": "the answer took longer than 0.5 seconds"})
        assert endless.closed.wait(60)
        endless.fails_at = 3
        connection, reply = opened(url)
        body = reply.read().decode()
        connection.close()
    assert [kind for kind, _ in read(body)] == ["", "", "", "error"]
    assert "secret" not in body
