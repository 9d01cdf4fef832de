"""Running a server: the socket, bound before a model is loaded, and a server in a thread, for tests and benchmarks."""

import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import uvicorn
from fastapi import FastAPI

from zoo.errors import ConfigError


def bound(host: str, port: int) -> socket.socket:
    """Bind a socket; port 0 takes a free one.

    Its protocol is named, since asyncio sets TCP_NODELAY for IPPROTO_TCP only, not for 0, which binds the same. With
    Nagle's algorithm the body of an answer, sent after its head, waits for the client's delayed acknowledgement: 40 ms.

    Raises:
        ConfigError: If the port is in use or not allowed, or there is no such host.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise ConfigError(f"--host {host!r} --port {port}: {error}") from error
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"--port {port} is in use on {host}: stop what listens there, name another port, or --port 0 for a "
                "free one"
            ) from error
        raise ConfigError(f"--host {host!r} --port {port}: {error}") from error
    return found


def address(found: socket.socket) -> str:
    """Give the URL of a bound socket."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: FastAPI, quiet: bool = False) -> uvicorn.Server:
    """Make a server that, when it is asked to stop, answers what it has accepted, and then stops."""
    level = "error" if quiet else "warning"
    return uvicorn.Server(uvicorn.Config(app, log_level=level, lifespan="on", server_header=False, backlog=2048))


@contextmanager
def running(app: FastAPI, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Run a server in a thread while the block runs; give its URL. At the end it answers what it has accepted.

    Raises:
        ConfigError: If the port is in use.
        RuntimeError: If the server does not start.
    """
    with closing(bound(host, port)) as found:
        server = server_of(app, quiet=True)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise RuntimeError("the server did not start; its log says why")
                time.sleep(0.005)
            yield address(found)
        finally:
            server.should_exit = True
            thread.join()
