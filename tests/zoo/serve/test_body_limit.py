"""`BodyLimit`: requests of too many bytes, by their header or while they come."""

import http.client
import socket
from contextlib import suppress
from typing import Any

import pytest

from zoo.pipeline import Pipeline
from zoo.serve import Limits, application, running

TWO_GB = 2 * 10**9
HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"


def answer_to(place: str, head: bytes, piece: bytes, pieces: int) -> tuple[bytes, int]:
    """Send a head, and then pieces until nobody reads them; give the answer, and how many bytes were sent."""
    host, port = place.split(":")
    sent, answer = 0, b""
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(HEAD + head + b"\r\n")
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(pieces):
                connection.sendall(piece)
                sent += len(piece)
                connection.setblocking(False)
                with suppress(BlockingIOError):
                    answer += connection.recv(4096)
                connection.settimeout(30)
                if answer:
                    break
        with suppress(ConnectionResetError):
            while more := connection.recv(4096):
                answer += more
    return answer, sent


def test_two_gigabytes_are_refused_by_the_header_before_any_of_them_is_sent(pictures: Any) -> None:
    answer, sent = answer_to(pictures.place, b"Content-Length: %d\r\n" % TWO_GB, b"", 0)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the body has 2,000,000,000 bytes, more than 100,000" in answer
    assert sent == 0


def test_a_body_that_never_ends_is_refused_while_it_comes(pictures: Any) -> None:
    piece = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    answer, sent = answer_to(pictures.place, b"Transfer-Encoding: chunked\r\n", piece, TWO_GB // len(piece))
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the body has more than 100,000 bytes" in answer
    assert sent < TWO_GB // 50  # what the sockets hold
    assert pictures("/health")[0] == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_reads_no_answer_before_all_is_sent_sees_the_refusal(labeller: str, chunked: bool) -> None:
    size, piece = 15 * 10**6, bytes(10**6)  # more than sockets hold
    headers = {"content-type": "application/octet-stream"} | ({} if chunked else {"content-length": str(size)})
    with running(application(Pipeline(labeller), Limits(max_bytes=2 * 10**6))) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        connection.request("POST", "/predict", iter([piece] * 15), headers, encode_chunked=chunked)
        reply = connection.getresponse()
        assert (reply.status, reply.headers["connection"]) == (413, "close")
        assert b"more than 2,000,000" in reply.read()
        connection.close()


@pytest.mark.parametrize("length", ["-5", "abc"])
def test_a_length_that_is_none_is_refused(pictures: Any, length: str) -> None:
    answer, _ = answer_to(pictures.place, f"Content-Length: {length}\r\n".encode(), b"", 0)
    assert answer.startswith(b"HTTP/1.1 400")
