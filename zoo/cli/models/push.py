"""`zoo push FOLDER org/name`: a run with a model card, to the Hugging Face Hub."""

from typing import Annotated

import typer

from zoo.weights.sharing import push as send


def push(
    folder: Annotated[str, typer.Argument(help="Folder that `zoo train` or zoo.weights.save wrote.")],
    repository: Annotated[str, typer.Argument(help="org/name; made if it is not there.")],
    licence: Annotated[
        str, typer.Option("--licence", "--license", help="Of the weights, such as apache-2.0.", show_default=False)
    ] = "",
    limits: Annotated[str, typer.Option(help="What the weights are not for.", show_default=False)] = "",
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch, made if it is not there.")] = None,
    message: Annotated[str, typer.Option(help="Message of the commit.")] = "Add weights",
) -> None:
    """Send a model to the Hugging Face Hub, with a card: what it is, data, scores, command, limits and licence."""
    url = send(
        folder, repository, licence=licence, limits=limits, private=private, revision=revision, message=message
    )  # fmt: skip
    typer.echo(url)
    typer.echo(f'zoo: to load it, zoo.create("hf-hub:{repository.removeprefix("hf-hub:")}")', err=True)
