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


@dataclass(frozen=True)
class _Timed:
    """Requests of a client: when the first began, when the last was answered, and the seconds of each."""

    begin: float
    last: float
    seconds: list[float]


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

    def client(number: int) -> _Timed:
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
        return _summary(list(threads.map(client, range(clients))))


def of_loop(answer: Callable[[list[Any]], Any], raw: Callable[[int], Any], seconds: float) -> Latency:
    """Call a model for some seconds, one input after the other."""
    for turn in range(WARM):
        answer([raw(turn)])
    return _summary([_timed(lambda turn: answer([raw(turn)]), seconds)])


def _timed(ask: Callable[[int], Any], seconds: float) -> _Timed:
    found: list[float] = []
    begin = last = time.perf_counter()
    while (start := time.perf_counter()) < begin + seconds:
        ask(len(found))
        last = time.perf_counter()
        found.append(last - start)
    return _Timed(begin, last, found)


def _summary(found: Sequence[_Timed]) -> Latency:
    """Summarise requests; those that began before the end are answered after it, so the time is the real one."""
    elapsed = max(each.last for each in found) - min(each.begin for each in found)
    return Latency.of([one for each in found for one in each.seconds], elapsed)
