"""Load on a server, and on a loop."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from zoo.bench.serve.load import WARM, Latency, of_loop, of_server


class Echo(BaseHTTPRequestHandler):
    """Answers 200, or 500 to what asks for it, and keeps what was sent."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(sent)
        self.send_response(500 if sent == b"bad" else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *values: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Echo.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_percentiles_are_in_milliseconds_and_the_rate_by_second() -> None:
    found = Latency.of([0.001] * 98 + [0.003, 0.003], 4.0)
    assert (found.rate, found.requests) == (25.0, 100)
    assert found.median == pytest.approx(1)
    assert found.high == pytest.approx(3)


def test_every_client_asks_and_warm_requests_are_not_counted(url: str) -> None:
    found = of_server(url, lambda number: (b"%d" % number, {}), 3, 0.05)
    assert len(Echo.seen) == found.requests + 3 * WARM
    assert {b"0", b"1", b"2", b"3"} <= set(Echo.seen)


def test_an_answer_that_is_none_ends_the_measurement(url: str) -> None:
    with pytest.raises(RuntimeError, match="answered 500"):
        of_server(url, lambda number: (b"bad", {}), 1, 0.05)


def test_a_loop_is_asked_one_by_one() -> None:
    seen: list[list[int]] = []
    found = of_loop(seen.append, lambda number: number, 0.01)
    assert seen[WARM:] == [[number] for number in range(found.requests)]


def test_the_rate_is_by_the_time_to_the_last_answer() -> None:
    found = of_loop(lambda inputs: time.sleep(0.2), lambda number: number, 0.01)
    assert found.requests == 1
    assert found.rate <= 5  # one answer after 0.2 s or more, not after 0.01 s
