"""`zoo export MODEL --out FOLDER`: a model as a folder that runs without this library."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.arguments import CHECKPOINT


def export(
    model: Annotated[str, typer.Argument(help=CHECKPOINT)],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write, new or empty.", show_default="MODEL-onnx or MODEL-pt2")
    ] = None,
    to: Annotated[str, typer.Option(help="onnx, for onnxruntime, or pt2, for torch.export.load.")] = "onnx",
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Compare with PyTorch at three other sizes, to 1e-4.")
    ] = True,
    int8: Annotated[bool, typer.Option("--int8", help="Weights of matrix products in 8 bits, by onnxruntime.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files in the folder.")] = False,
    drawn: Annotated[
        bool, typer.Option("--random", help="Draw weights in place of published ones, to try conversion and speed.")
    ] = False,
) -> None:
    """Export a model, its tokenizer, preprocessing and labels, with a script run.py that needs onnxruntime only."""
    from zoo.deploy.api import export as start
    from zoo.factory import create

    folder = Path(f"{Path(model).name.rpartition(':')[2]}-{to}") if out is None else out
    tell = partial(typer.echo, err=True)
    start(create.create(model) if drawn else model, folder, to, check, int8=int8, overwrite=overwrite, tell=tell)
    shown = f"; to run it: python {folder / 'run.py'} INPUT" if to == "onnx" else ""
    typer.echo(f"saved in {folder}{shown}")
