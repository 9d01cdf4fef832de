"""`application`: the HTTP interface of a model, in FastAPI: a page, `/predict`, `/stream`, `/features` and others."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from zoo.pipeline import Pipeline
from zoo.serve.batcher import Batcher
from zoo.serve.body_limit import BodyLimit
from zoo.serve.known_hosts import KnownHosts
from zoo.serve.limits import Limits
from zoo.serve.metrics import Measured, Metrics
from zoo.serve.raw_inputs import check_amount, raw_input
from zoo.serve.refusal import Refusal
from zoo.serve.request_body import read_body
from zoo.serve.served_model import ServedModel
from zoo.serve.streaming import events
from zoo.version import __version__

GONE = 499
"""Status, as nginx writes it, of a request whose client has gone; nobody reads it."""
POLICY = "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' blob: data:"


class _Server:
    """The state of an application: the model, its batches and its metrics."""

    def __init__(self, pipeline: Pipeline, limits: Limits) -> None:
        self.model, self.limits, self.metrics = ServedModel(pipeline, limits), limits, Metrics()
        self.batcher: Batcher | None = None

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Start the batches, and at the end answer what was accepted."""
        self.batcher = Batcher(self.model.answer, self.limits, self.metrics.batch, self.model.together)
        self.metrics.watch_queue(lambda: self.batcher.length if self.batcher else 0)
        yield
        await self.batcher.close()

    async def answer(self, request: Request, wanted: str) -> Response:
        """Answer a request for answers or features."""
        assert self.batcher is not None
        async with asyncio.timeout(self.limits.timeout):
            inputs, given = await read_body(request)
            if len(inputs) > self.limits.max_inputs:
                raise Refusal(413, f"{len(inputs)} inputs, more than {self.limits.max_inputs} in one request")
            options = self.model.options(wanted, given)
            self.model.check_tokens(len(inputs), options)
            raw = await run_in_threadpool(self._raw, inputs)
            answers = await _unless_gone(request, self.batcher.submit(raw, options))
        if answers is None:
            return Response(status_code=GONE)
        for number, answer in enumerate(answers, start=1):
            if isinstance(answer, Refusal):
                raise Refusal(answer.status, answer.text if len(answers) == 1 else f"input {number}: {answer.text}")
            if isinstance(answer, Exception):
                raise answer
        return JSONResponse({"model": self.model.pipeline.spec.name, "answers": answers})

    async def stream(self, request: Request) -> Response:
        """Answer one input token by token, as server-sent events."""
        assert self.batcher is not None
        async with asyncio.timeout(self.limits.timeout):
            inputs, given = await read_body(request)
            if len(inputs) != 1:
                raise Refusal(422, f"{len(inputs)} inputs: a stream answers one")
            options = self.model.options("stream", given)
            self.model.check_tokens(1, options)
            (raw,) = await run_in_threadpool(self._raw, inputs)
            pieces = self.batcher.streams().pieces(self.model.steps(raw, options))
            first = await anext(pieces, None)  # what cannot be read is refused before an answer begins
        return StreamingResponse(
            events(first, pieces, self.limits.timeout),
            media_type="text/event-stream",
            headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
        )

    def _raw(self, inputs: list[Any]) -> list[Any]:
        model, preprocess = self.model, self.model.pipeline.preprocess
        reads = model.reads_files, getattr(preprocess, "numbers", "float32"), model.only_texts
        raw = [raw_input(item, number, *reads) for number, item in enumerate(inputs, start=1)]
        for number, each in enumerate(raw, start=1):
            check_amount(each, number, preprocess, self.limits.amounts)
        return raw

    def health(self) -> dict[str, Any]:
        """Say that the server answers, and what: the model, its task, and what it reads; numbers are a regression."""
        spec = self.model.pipeline.spec
        return {
            "status": "ok",
            "model": spec.name,
            "task": "regression" if self.model.pipeline.answers_numbers else spec.task,
            "reads_files": self.model.reads_files,
            "inputs": self.model.pipeline.input_kind,
            "answers": self.model.answers_by is not None,
            "zoo_version": __version__,
        }


def application(pipeline: Pipeline, limits: Limits | None = None, hosts: Sequence[str] = ("*",)) -> FastAPI:
    """Make the HTTP interface of a model, to be run by any ASGI server in one process.

    Args:
        pipeline: of the model, whose weights are loaded here.
        limits: what is accepted.
        hosts: names in the header `Host` that are answered: a server for this machine alone takes none that another
            web site could have resolved to it.

    Raises:
        ConfigError: If the model has no answers that can be sent.
    """
    limits = limits or Limits()
    server = _Server(pipeline, limits)
    app = FastAPI(
        title=f"zoo serve {pipeline.spec.name}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=server.lifespan,
    )
    _add_routes(app, server)
    _add_errors(app)
    app.add_middleware(BodyLimit, max_bytes=limits.max_bytes)
    app.add_middleware(KnownHosts, hosts=hosts)
    app.add_middleware(Measured, metrics=server.metrics)
    return app


def _add_routes(app: FastAPI, server: _Server) -> None:
    @app.post("/predict")
    async def predict(request: Request) -> Response:
        """Answer inputs: labels, tags, filled masks, or what the model writes."""
        return await server.answer(request, "answers")

    @app.post("/stream")
    async def stream(request: Request) -> Response:
        """Answer one input of a model that writes token by token, as server-sent events."""
        return await server.stream(request)

    @app.post("/features")
    async def features(request: Request) -> Response:
        """Give the feature vector of each input."""
        return await server.answer(request, "features")

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Say that the server answers."""
        return server.health()

    @app.get("/metrics")
    async def metrics() -> Response:
        """Give the metrics as Prometheus reads them."""
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", response_class=HTMLResponse)
    async def page() -> HTMLResponse:
        """Give a page to try the model."""
        text = files("zoo.serve").joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


def _add_errors(app: FastAPI) -> None:
    """Answer errors as one sentence in JSON; the traceback of what was not foreseen goes to the log only."""

    @app.exception_handler(Refusal)
    async def refuse(request: Request, error: Refusal) -> Response:
        headers = {413: {"connection": "close"}, 503: {"retry-after": "1"}}
        return JSONResponse({"error": error.text}, error.status, headers.get(error.status))

    @app.exception_handler(TimeoutError)
    async def late(request: Request, error: TimeoutError) -> Response:
        return JSONResponse({"error": "the request took too long"}, 504)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=GONE)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": "the model failed on this request; the server's log says how"}, 500)


async def _unless_gone(request: Request, answers: Any) -> list[Any] | None:
    """Wait for answers; give them up, and None, once the client has gone."""
    asked, gone = asyncio.ensure_future(answers), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({asked, gone}, return_when=asyncio.FIRST_COMPLETED)
        return list(await asked) if asked.done() else None
    finally:
        asked.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
