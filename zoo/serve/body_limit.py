"""`BodyLimit`: refuses requests whose body is too large, by its header, or else while it comes."""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zoo.serve.refusal import Refusal


class BodyLimit:
    """Pass on requests whose body is small enough; ASGI middleware.

    Args:
        app: what answers.
        max_bytes: of a body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 by the header `Content-Length`, before any of the body is read, or pass the request on."""
        length = dict(scope.get("headers") or ()).get(b"content-length", b"0")
        if scope["type"] == "http" and length.isdigit() and int(length) > self.max_bytes:
            text = f"the body has {int(length):,} bytes, more than {self.max_bytes:,}"
            await JSONResponse({"error": text}, 413, {"connection": "close"})(scope, receive, send)
            return
        await self.app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.max_bytes:
                raise Refusal(413, f"the body has more than {self.max_bytes:,} bytes")
            return message

        return counted
