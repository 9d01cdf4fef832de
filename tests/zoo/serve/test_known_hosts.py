"""`KnownHosts`: requests for other names are refused."""

import asyncio
import json
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from zoo.serve.known_hosts import KnownHosts


def answer(host: str | None, hosts: tuple[str, ...]) -> tuple[int, bytes]:
    """Ask with a header `Host`; give status and body."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [] if host is None else [(b"host", host.encode())]
    app = KnownHosts(PlainTextResponse("yes"), hosts)
    asyncio.run(app({"type": "http", "method": "GET", "headers": headers}, receive, send))
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "LOCALHOST:8000", "[::1]:8000"])
def test_names_of_the_server_are_answered_on_any_port(host: str) -> None:
    assert answer(host, ("127.0.0.1", "localhost", "::1")) == (200, b"yes")


@pytest.mark.parametrize("host", ["example.com", "example.com:8000", "127.0.0.1.example.com", "", "[", None])
def test_other_names_are_refused_in_json_with_what_a_proxy_has_to_send(host: str | None) -> None:
    status, body = answer(host, ("127.0.0.1", "localhost"))
    text = f"Host {host or ''!r}: this server answers for 127.0.0.1 or localhost only; a proxy has to send one of these"
    assert (status, json.loads(body)) == (400, {"error": text})


def test_any_name_is_answered_where_hosts_are_any() -> None:
    assert answer("example.com", ("*",)) == (200, b"yes")
