"""Sockets, and a server in a thread."""

import re
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
