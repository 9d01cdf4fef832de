"""`zoo bench int8 CHECKPOINT`: what int8 weights change in a model's answers."""

from typing import Annotated

import typer

from zoo.bench import Int8Quality, int8_quality
from zoo.cli.arguments import Checkpoint, read_inputs
from zoo.data import shown
from zoo.pipeline import Pipeline


def command(
    model: Checkpoint,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="What the model reads: texts or paths of files; by default the lines of standard input."),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one input from each line of this file; - is stdin.")] = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="Make embeddings int8, too.")] = False,
) -> None:
    """Compare a model with its int8 copy on inputs: perplexity, best class, largest error of a score."""
    pipeline = Pipeline(model)
    lines = read_inputs(inputs, file)
    read = (given for _, given in pipeline.read(shown(lines, len(lines), "comparing")))
    typer.echo(table(int8_quality(pipeline.model, read, embeddings)))


def table(found: Int8Quality) -> str:
    """Lay out the figures for the terminal."""
    rows = [
        ("weights", "{:.1f} MB, with int8 {:.1f} MB".format(*found.megabytes)),
        ("same best class", f"{found.agreement:.2%} of {found.scores:,}"),
        (
            "largest error of a score",
            f"{found.largest_error:.3g}; scores have a standard deviation of {found.deviation:.3g}",
        ),
    ]
    if found.perplexity:
        before, after = found.perplexity
        rows.append(("perplexity", f"{before:.5g}, with int8 {after:.5g} ({after / before - 1:+.2%})"))
    return "\n".join(f"{name:<26}{value}" for name, value in rows)
