"""`Metrics` of the server in Prometheus's text format, and the ASGI middleware that counts requests."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATHS = ("/", "/health", "/metrics", "/predict", "/stream", "/features")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Requests by path and status, their seconds, the inputs and seconds of batches, and the length of the queue."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "zoo_requests", "Requests that were answered.", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "zoo_request_seconds", "Seconds to an answer.", ["path"], registry=self.registry, buckets=SECONDS
        )
        self.sizes = Histogram("zoo_batch_inputs", "Inputs of a batch.", registry=self.registry, buckets=SIZES)
        self.computing = Histogram(
            "zoo_batch_seconds", "Seconds of a batch, with preparation.", registry=self.registry, buckets=SECONDS
        )
        self.queue = Gauge("zoo_queue_inputs", "Inputs that wait for a batch.", registry=self.registry)

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Read the length of the queue whenever the metrics are asked for."""
        self.queue.set_function(length)

    def batch(self, size: int, seconds: float) -> None:
        """Count a batch."""
        self.sizes.observe(size)
        self.computing.observe(seconds)

    def text(self) -> bytes:
        """Write the metrics as Prometheus reads them."""
        return generate_latest(self.registry)


class Measured:
    """Count requests and time them; ASGI middleware, around all others.

    Args:
        app: what answers.
        metrics: where it is counted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in PATHS else "other"
        start, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - start)
