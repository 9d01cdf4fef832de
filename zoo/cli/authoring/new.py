"""`zoo new`: a plugin's package, and models and attentions in one, written from templates."""

from pathlib import Path
from typing import Annotated

import typer

from zoo.scaffold.additions import new_attention, new_model
from zoo.scaffold.package import PARTS, new_plugin

app = typer.Typer(no_args_is_help=True)
Plugin = Annotated[str, typer.Option(help="Folder of the plugin, which holds its pyproject.toml.")]


@app.callback()
def new() -> None:
    """Write a new plugin, or a model or an attention in one: code that runs and passes its tests, to be changed."""


@app.command("plugin")
def plugin(
    name: Annotated[str, typer.Argument(help="Of the plugin and its modality, such as gait: the package is zoo_gait.")],
    parts: Annotated[
        str,
        typer.Option("--with", help=f"Parts besides the model, separated by commas: {', '.join(PARTS)}; '' for none."),
    ] = "source",
    out: Annotated[str | None, typer.Option(help="New folder.", show_default="zoo-NAME")] = None,
) -> None:
    """Write the package of a new plugin: a modality of its own, with tests."""
    folder = new_plugin(name, parts, out)
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        typer.echo(f"  {path.relative_to(folder).as_posix()}")
    typer.echo(f"written in {folder}; next:\n  cd {folder}\n  pip install -e .[test]\n  zoo plugins check\n  pytest")


@app.command("model")
def model(
    name: Annotated[str, typer.Argument(help="Of the model, such as gait-linear.")], plugin: Plugin = "."
) -> None:
    """Add a model to a plugin: a file, a record in plugin.py, a test."""
    _told(new_model(name, plugin))


@app.command("attention")
def attention(
    name: Annotated[str, typer.Argument(help="Of the attention, as attention=NAME will call it.")], plugin: Plugin = "."
) -> None:
    """Add an attention to a plugin: a file, a record in plugin.py, a test."""
    _told(new_attention(name, plugin))


def _told(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(f"wrote {path}")
