"""`zoo bench serve`: serve models in a process of their own, and measure."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from zoo.bench.serve.load import Latency, of_loop, of_server
from zoo.bench.serve.subjects import Subject, subject
from zoo.bench.speed.stored import processor
from zoo.bench.study.options import names_in, numbers_in
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline


def command(
    models: Annotated[str, typer.Option(help="Names of classifiers.")] = "vit-tiny,bert-tiny",
    clients: Annotated[str, typer.Option(help="Numbers of clients.")] = "1,8,50",
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds of each measurement.")] = 10.0,
) -> None:
    """Measure `zoo serve`: requests in a second, and latency, against the same model called in a loop."""
    counts = numbers_in(clients, "--clients")
    typer.echo(f"{processor()}; each measured for {seconds:g} s\n")
    typer.echo("| model | asked by | requests in a second | median ms | 99th percentile ms |\n|---|---|---|---|---|")
    for name in names_in(models):
        with tempfile.TemporaryDirectory() as folder:
            made = subject(name, Path(folder))
            pipeline = Pipeline(folder)
            typer.echo(row(name, "a loop, one by one", of_loop(pipeline.answers, made.raw, seconds)))
            with served(made) as url:
                for count in counts:
                    who = "1 client" if count == 1 else f"{count} clients"
                    typer.echo(row(name, who, of_server(url, made.body, count, seconds)))


def row(name: str, who: str, found: Latency) -> str:
    """Write a line of the table."""
    return f"| `{name}` | {who} | {found.rate:.0f} | {found.median:.1f} | {found.high:.1f} |"


@contextmanager
def served(made: Subject) -> Iterator[str]:
    """Run `zoo serve` in a process of its own; give its URL.

    Raises:
        ConfigError: If it does not start.
    """
    command = [sys.executable, "-m", "zoo", "serve", str(made.folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        if not line.startswith("zoo serve"):
            raise ConfigError(f"zoo serve did not start: {line}{process.stderr.read()}")
        try:
            yield line.split()[4]
        finally:
            process.terminate()
            process.stderr.read()
