"""`KnownHosts`: answers requests for names of this server only, so that no other web site can be resolved to it."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class KnownHosts:
    """Pass on requests whose header `Host` names this server, whatever the port; ASGI middleware.

    Args:
        app: what answers.
        hosts: names and addresses; `*` for any.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app, self.hosts = app, [host.lower() for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400 to another name, or pass the request on."""
        if scope["type"] == "http" and "*" not in self.hosts:
            given = Headers(scope=scope).get("host", "")
            if _name(given) not in self.hosts:
                known = " or ".join(dict.fromkeys(self.hosts))
                text = f"Host {given!r}: this server answers for {known} only; a proxy has to send one of these"
                await JSONResponse({"error": text}, 400)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _name(host: str) -> str | None:
    """Give the name or address of `name:port`, in small letters; None where there is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
