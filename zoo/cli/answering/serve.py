"""`zoo serve MODEL`: a model over HTTP on this machine, with a page to try it."""

import signal
from contextlib import closing
from ipaddress import ip_address
from typing import Annotated

import typer

from zoo.cli.arguments import Checkpoint, Device, Int8
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline
from zoo.registry.builtin import SERVE
from zoo.registry.entry_loading import require


def serve(
    model: Checkpoint,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8000,
    max_batch: Annotated[int, typer.Option(min=1, help="Inputs computed together at most.")] = 32,
    max_wait: Annotated[
        float, typer.Option(min=0, help="Milliseconds that an input waits for others, while the model is idle.")
    ] = 2.0,
    max_queue: Annotated[int, typer.Option(min=1, help="Inputs that wait at most; more are refused (503).")] = 1024,
    max_mb: Annotated[float, typer.Option(min=0.001, help="Megabytes of a request at most.")] = 20.0,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            help="UNIT=NUMBER: most of one input, of pixels, samples, nodes or characters; repeatable.",
            show_default="pixels=50000000, samples=10000000, nodes=100000, characters=20000",
        ),
    ] = None,
    max_new: Annotated[int, typer.Option(min=1, help="New tokens that a request may ask for.")] = 1024,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Inputs x beam x new tokens of a request at most, and of what is one batch.")
    ] = 65_536,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds from a request to its answer.")] = 60.0,
    task: Annotated[
        str | None,
        typer.Option(
            help="Task of a model with published weights: masked-token fills masks, as zoo predict does.",
            show_default="the model's own",
        ),
    ] = None,
    device: Device = "cpu",
    int8: Int8 = False,
) -> None:
    """Answer requests for predictions, generated text and feature vectors over HTTP; Ctrl-C stops.

    Inputs that arrive together are computed together. POST /predict takes JSON, uploaded files or lines of text;
    /features, /health and /metrics stand beside it, and a page to try the model at /.
    """
    require("zoo serve", SERVE)
    from zoo.serve.limits import Limits, amounts_of
    from zoo.serve.routes import application
    from zoo.serve.sockets import address, bound, server_of

    limits = Limits(
        max_bytes=int(max_mb * 1e6), max_inputs=min(256, max_queue), max_new=max_new, max_tokens=max_tokens,
        max_queue=max_queue, max_batch=max_batch, max_wait=max_wait, timeout=timeout, amounts=amounts_of(most or []),
    )  # fmt: skip
    with closing(bound(host, port)) as found:
        local = ip_address(found.getsockname()[0]).is_loopback
        app = application(_pipeline(model, device, task, int8), limits, (host, "localhost") if local else ("*",))
        if not local:
            typer.echo(f"zoo: whoever reaches {host} can ask this server: it has no passwords", err=True)
        typer.echo(f"{app.title} on {address(found)} (Ctrl-C stops)", err=True)
        for each in (signal.SIGINT, signal.SIGTERM):  # the server raises them again when it has stopped
            signal.signal(each, lambda number, frame: None)
        server_of(app).run(sockets=[found])
    typer.echo("zoo: stopped; what was accepted is answered", err=True)


def _pipeline(model: str, device: str, task: str | None, int8: bool) -> Pipeline:
    """Open a model with a task.

    Raises:
        ConfigError: If it has not this task.
    """
    pipeline = Pipeline(model, device, task=task, int8=int8)
    if task is not None and task != pipeline.spec.task:
        tasks = pipeline.spec.tasks if pipeline.task else (pipeline.spec.task,)
        raise ConfigError(f"--task {task}: {model!r} has {', '.join(tasks)}")
    return pipeline
