"""Server-sent events: what a model writes is sent token by token, in turns with the batches of other requests."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from concurrent.futures import Executor
from contextlib import aclosing, suppress
from typing import Any

from zoo.serve.refusal import Refusal

_LOG = logging.getLogger("uvicorn.error")


class Streams:
    """Answers that are written now; each is advanced by one token at a time, in the model's thread.

    Args:
        thread: of the model.
        most: streams at once.
    """

    def __init__(self, thread: Executor, most: int) -> None:
        self.thread, self.most, self.open = thread, most, 0

    async def pieces(self, steps: Generator[str, None, None]) -> AsyncGenerator[str, None]:
        """Yield the pieces of an answer; when nobody takes them any more, decoding stops.

        Raises:
            Refusal: If too many are written already.
        """
        if self.open >= self.most:
            raise Refusal(503, f"{self.open} answers are streamed already: try again later")
        self.open += 1
        try:
            loop = asyncio.get_running_loop()
            while (piece := await loop.run_in_executor(self.thread, lambda: next(steps, None))) is not None:
                yield piece
        finally:
            self.open -= 1
            with suppress(RuntimeError):  # the thread has ended, and the steps with it
                self.thread.submit(steps.close)


async def events(first: str | None, rest: AsyncGenerator[str, None], seconds: float) -> AsyncIterator[str]:
    """Write pieces as server-sent events: `data: {"text": …}` for each, `end` with the whole, or `error`.

    Args:
        first: the first piece; None if there is none.
        rest: the others.
        seconds: after which the answer is broken off.
    """
    pieces = [] if first is None else [first]
    try:
        async with aclosing(rest):
            if first:
                yield event({"text": first})
            end = asyncio.get_running_loop().time() + seconds
            while (piece := await _until(end, rest)) is not None:
                pieces.append(piece)
                if piece:
                    yield event({"text": piece})
    except TimeoutError:
        yield event({"error": f"the answer took longer than {seconds:g} seconds"}, "error")
    except Exception:
        _LOG.exception("the model failed while it wrote")
        yield event({"error": "the model failed on this request; the server's log says how"}, "error")
    else:
        yield event({"text": "".join(pieces)}, "end")


async def _until(end: float, rest: AsyncGenerator[str, None]) -> str | None:
    async with asyncio.timeout_at(end):
        return await anext(rest, None)


def event(data: Any, kind: str = "") -> str:
    """Write an event, https://html.spec.whatwg.org/multipage/server-sent-events.html."""
    named = f"event: {kind}\n" if kind else ""
    return f"{named}data: {json.dumps(data, ensure_ascii=False)}\n\n"
