"""Load on a server: clients that each ask again as soon as they have an answer; and the same model in a loop."""

import http.client
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

WARM = 3
"""Requests of each client that are not counted."""


@dataclass(frozen=True)
class Latency:
    """Give requests in a second, and milliseconds to an answer: the median and the 99th percentile of so many."""

    rate: float
    median: float
    high: float
    requests: int

    @classmethod
    def of(cls, seconds: Sequence[float], elapsed: float) -> "Latency":
        """Summarise the seconds of requests."""
        median, high = 1000 * np.percentile(seconds, (50, 99))
        return cls(len(seconds) / elapsed, float(median), float(high), len(seconds))


def of_server(url: str, body: Callable[[int], tuple[bytes, dict[str, str]]], clients: int, seconds: float) -> Latency:
    """Let clients, each with a connection of its own, ask `/predict` for some seconds.

    Args:
        url: of the server.
        body: of the request of a number, with its headers.
        clients: how many.
        seconds: for how long.

    Raises:
        RuntimeError: If a request is not answered with 200.
    """
    place = url.removeprefix("http://")

    def client(number: int) -> list[float]:
        connection = http.client.HTTPConnection(place, timeout=60)

        def ask(turn: int) -> None:
            sent, headers = body(number + clients * turn)
            connection.request("POST", "/predict", sent, headers)
            reply = connection.getresponse()
            text = reply.read()
            if reply.status != 200:
                raise RuntimeError(f"{place} answered {reply.status}: {text.decode()}")

        with closing(connection):
            for turn in range(WARM):
                ask(turn)
            return _timed(ask, seconds)

    with ThreadPoolExecutor(clients) as threads:
        return Latency.of([each for found in threads.map(client, range(clients)) for each in found], seconds)


def of_loop(answer: Callable[[list[Any]], Any], raw: Callable[[int], Any], seconds: float) -> Latency:
    """Call a model for some seconds, one input after the other."""
    for turn in range(WARM):
        answer([raw(turn)])
    return Latency.of(_timed(lambda turn: answer([raw(turn)]), seconds), seconds)


def _timed(ask: Callable[[int], Any], seconds: float) -> list[float]:
    found: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        ask(len(found))
        found.append(time.perf_counter() - start)
    return found
