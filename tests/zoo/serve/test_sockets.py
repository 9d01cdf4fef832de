"""Sockets, and a server in a thread."""

import asyncio
import re
import socket
from contextlib import closing

import pytest
from fastapi import FastAPI

from zoo.errors import ConfigError
from zoo.serve.sockets import address, bound, running


def test_a_port_in_use_is_named_with_a_way_out() -> None:
    with closing(bound("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        assert address(first) == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match=rf"--port {port} is in use on 127.0.0.1: .* --port 0 for a free one"):
            bound("127.0.0.1", port)
        with pytest.raises(ConfigError, match=rf"--port {port} is in use"), running(FastAPI(), port=port):
            pass


def test_a_host_that_is_none_is_told() -> None:
    with pytest.raises(ConfigError, match=re.escape("--host '999.1.1.1' --port 0: ")):
        bound("999.1.1.1", 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_answer_that_is_sent_in_pieces_does_not_wait_for_acknowledgements(host: str) -> None:
    async def accepted() -> int:
        found = asyncio.get_running_loop().create_future()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = bound(host, 0)
        async with await asyncio.start_server(accept, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            option: int = await found
            writer.close()
            await writer.wait_closed()
            return option

    assert asyncio.run(accepted())
