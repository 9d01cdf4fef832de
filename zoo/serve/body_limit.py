"""`BodyLimit`: refuses requests whose body is too large, by its header, or else while it comes."""

import asyncio
from contextlib import suppress

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zoo.serve.refusal import Refusal

DRAINED, PAUSE, LONGEST = 10, 2.0, 30.0
"""Bodies up to so many times the limit are read to their end behind a refusal; seconds of a pause, and of all."""


class BodyLimit:
    """Pass on requests whose body is small enough; ASGI middleware.

    Many clients, Python's `http.client` among them, read no answer before they have sent the whole body, and see a
    broken connection where it is closed earlier. So what comes behind a refusal is read, kept nowhere, up to a bound.

    Args:
        app: what answers.
        max_bytes: of a body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 by the header `Content-Length`, before any of the body is read, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope.get("headers") or ()).get(b"content-length", b"0")
        body = _Body(receive, send, self.max_bytes)
        if length.isdigit() and int(length) > self.max_bytes:
            body.drains = int(length) <= DRAINED * self.max_bytes
            text = f"the body has {int(length):,} bytes, more than {self.max_bytes:,}"
            await JSONResponse({"error": text}, 413, {"connection": "close"})(scope, receive, body.send)
            return
        await self.app(scope, body.receive, body.send)


class _Body:
    """The body of a request: it is counted, and drained before the end of a refusal."""

    def __init__(self, receive: Receive, send: Send, max_bytes: int) -> None:
        self._receive, self._send, self.max_bytes = receive, send, max_bytes
        self.read, self.drains = 0, False

    async def receive(self) -> Message:
        """Give a part of the body.

        Raises:
            Refusal: If it is too much with those before.
        """
        message = await self._receive()
        self.read += len(message.get("body", b""))
        if self.read > self.max_bytes:
            self.drains = message.get("more_body", False)
            raise Refusal(413, f"the body has more than {self.max_bytes:,} bytes")
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer; the end of a refusal, behind which the connection is closed, after the body."""
        if self.drains and message["type"] == "http.response.body" and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST):
                    await self._drain()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _drain(self) -> None:
        more = True
        while more and self.read <= DRAINED * self.max_bytes:
            async with asyncio.timeout(PAUSE):
                message = await self._receive()
            self.read += len(message.get("body", b""))
            more = message.get("more_body", False)  # not where the client has gone
