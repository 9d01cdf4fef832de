"""`zoo train NAME --data … --out DIR`: train a model, see it learn, stop it and go on."""

import json
import shlex
import sys
from typing import Annotated, Any

import typer

from zoo.errors import ConfigError

GOES_ON = 130
"""Exit code of a training that was stopped, as shells give it for Ctrl-C."""


def train(
    name: Annotated[str, typer.Argument(help="Model, such as transformer-tiny.")],
    data: Annotated[str, typer.Option(help="Source such as reverse or folder:PATH; or a path, its kind is guessed.")],
    out: Annotated[str, typer.Option(help="Folder for the model and what is needed to go on.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training in OUT, exactly.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove the training in OUT first.")] = False,
    steps: Annotated[
        int | None, typer.Option(help="Of the optimiser. [default: 20 passes over the data, at most 2,000]")
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data, instead of steps. [default: 20]")] = None,
    batch_size: Annotated[int, typer.Option(help="Examples in a batch, on each device.")] = 32,
    accumulate: Annotated[int, typer.Option(help="Batches whose gradients a step adds up.")] = 1,
    learning_rate: Annotated[float | None, typer.Option(help="The highest.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, adamw or muon.")] = None,
    schedule: Annotated[str | None, typer.Option(help="trapezoid, cosine, constant or noam.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Steps in which the learning rate rises.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Of matrices.")] = None,
    clip: Annotated[float, typer.Option(help="Largest norm of the gradient; inf for none.")] = 1.0,
    precision: Annotated[str, typer.Option(help="auto, 32-true, bf16-mixed or 16-mixed.")] = "auto",
    label_smoothing: Annotated[
        float | None, typer.Option(help="Share spread over all answers. [default: by task]")
    ] = None,
    scheduled_sampling: Annotated[float, typer.Option(help="Rate of the model's own words in its input.")] = 0.0,
    corrupt: Annotated[float, typer.Option(help="Rate of wrong words in the decoder's input.")] = 0.0,
    guided_attention: Annotated[float, typer.Option(help="Weight of the diagonal prior on attention.")] = 0.0,
    monotonic: Annotated[float, typer.Option(help="Weight of the penalty on attention that goes back.")] = 0.0,
    validations: Annotated[int | None, typer.Option(help="How often the model is judged. [default: 10]")] = None,
    patience: Annotated[int | None, typer.Option(help="End after so many without a better score.")] = None,
    seed: Annotated[int, typer.Option(help="Decides weights, order and split.")] = 0,
    tokenizer: Annotated[str, typer.Option(help="byte, char, word, bpe:8000, wordpiece:8000, a tokenizer.json.")] = "",
    weights: Annotated[str | None, typer.Option(help="Begin from these: a file, a folder, hf-hub:org/name.")] = None,
    pretrained: Annotated[bool, typer.Option("--pretrained", help="Begin from the published weights.")] = False,
    sets: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the model's configuration.")] = None,
    devices: Annotated[str, typer.Option(help="How many, or which: 2, or 0,1.")] = "auto",
    strategy: Annotated[str, typer.Option(help="Of several devices: ddp, or fsdp for large models.")] = "auto",
    num_nodes: Annotated[int, typer.Option(help="Machines.")] = 1,
    accelerator: Annotated[str, typer.Option(help="cpu, cuda.")] = "auto",
) -> None:
    """Train a model on data; Ctrl-C saves, and --resume goes on."""
    from zoo.training.api import train as start

    command = shlex.join(["zoo", *(word for word in sys.argv[1:] if word not in ("--resume", "--overwrite"))])
    trained = start(
        name, data, out, resume=resume, overwrite=overwrite, steps=steps, epochs=epochs, batch_size=batch_size,
        accumulate=accumulate, learning_rate=learning_rate, optimizer=optimizer, schedule=schedule, warmup=warmup,
        weight_decay=weight_decay, clip=clip, precision=precision, label_smoothing=label_smoothing,
        scheduled_sampling=scheduled_sampling, corrupt=corrupt, guided_attention=guided_attention,
        monotonic=monotonic, validations=validations, patience=patience, seed=seed, tokenizer=tokenizer,
        weights=weights, pretrained=pretrained, devices=devices, strategy=strategy, num_nodes=num_nodes,
        accelerator=accelerator, progress=True, command=command, **overrides(sets or []),
    )  # fmt: skip
    if not trained.first:
        return
    from zoo.training.callbacks.progress import score_text

    outcome = trained.outcome
    if outcome.ended == "asked to":
        typer.echo(f"stopped behind step {outcome.steps:,}; to go on:\n  {command} --resume", err=True)
        raise typer.Exit(GOES_ON)
    why = f", no better for {trained.settings.patience} validations" if outcome.ended == "patience" else ""
    shown = [score_text(key, score) for key, score in trained.scores.items()]
    typer.echo(f"{outcome.steps:,} steps{why}; best at step {outcome.best_step:,}")
    typer.echo(("\n      " if len(shown) > 3 else "  ").join(["test:", *shown]) if shown else "no test examples")
    typer.echo(f"saved in {out}")


def overrides(pairs: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE; a value that is JSON is read as such, any other is a text.

    Raises:
        ConfigError: If there is no equals sign, or a key is given twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise ConfigError(f"--set {pair!r}: write KEY=VALUE, such as --set depth=4")
        if key in found:
            raise ConfigError(f"--set {key} is given twice: {found[key]} and {value}")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
