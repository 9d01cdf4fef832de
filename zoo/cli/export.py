"""`zoo export MODEL --out FOLDER`: a model as a folder that runs without this library."""

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.arguments import CHECKPOINT


def export(
    model: Annotated[str, typer.Argument(help=CHECKPOINT)],
    out: Annotated[Path, typer.Option(help="Folder to write, new or empty.")],
    to: Annotated[str, typer.Option(help="onnx, for onnxruntime, or pt2, for torch.export.load.")] = "onnx",
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Compare with PyTorch at three other sizes, to 1e-4.")
    ] = True,
    int8: Annotated[bool, typer.Option("--int8", help="Weights of matrix products in 8 bits, by onnxruntime.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files in the folder.")] = False,
) -> None:
    """Export a model, its tokenizer, preprocessing and labels, with a script run.py that needs onnxruntime only."""
    from zoo.deploy.api import export as start

    folder = start(model, out, to, check, int8=int8, overwrite=overwrite, tell=lambda line: typer.echo(line, err=True))
    shown = f"; to run it: python {folder / 'run.py'} INPUT" if to == "onnx" else ""
    typer.echo(f"saved in {folder}{shown}")
