"""`zoo transcribe FILE… --model CHECKPOINT`: what is said in files of sound, or in one that still comes, and when."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo import pipeline
from zoo.errors import ConfigError, InputError
from zoo.plugins.speech.cli.transcript_output import line_of, teller

if TYPE_CHECKING:
    from zoo.plugins.speech.cli.audio_stream import Raw
    from zoo.plugins.speech.cli.transcriber import Heard


def transcribe(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Files of sound: WAV, FLAC, OGG. With --stream one, or a FIFO, or - for what is piped in.",
            show_default=False,
        ),
    ],
    model: Annotated[str, typer.Option(help="Folder that `zoo train` wrote, or hf-hub:org/name.", show_default=False)],
    beam: Annotated[
        int | None, typer.Option(help="Transcripts that are followed at once. [default: the model's own]")
    ] = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Tell when each word begins and ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; with --stream a line for each word.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Transcribe one sound while it comes.")] = False,
    raw_rate: Annotated[
        int | None, typer.Option(help="Of a stream without a header: samples in a second.", show_default=False)
    ] = None,
    raw_format: Annotated[
        str | None, typer.Option(help="Of a stream without a header, as ffmpeg calls it. [default: s16le]")
    ] = None,
    raw_channels: Annotated[
        int | None, typer.Option(help="Of a stream without a header: how many take turns. [default: 1]")
    ] = None,
    device: pipeline.Device = "cpu",
) -> None:
    """Write down what is said in files of sound; those that cannot be read are named, skipped and counted."""
    raw = {"rate": raw_rate, "format": raw_format, "channels": raw_channels}
    given = {key: value for key, value in raw.items() if value is not None}
    _refuse(files, stream, beam, given)
    name = pipeline.reference(model)
    if stream:
        from zoo.plugins.speech.cli.stream_transcribe import follow

        follow(name, files[0], _raw(given), device, teller(timestamps, as_json))
        return
    from zoo.data.progress import shown
    from zoo.plugins.speech.cli.transcriber import Listener

    listener = Listener(name, device, beam, timestamps)
    skipped = 0
    for file in shown(files, len(files), "transcribing"):
        try:
            heard = listener.hear(file)
        except InputError as error:
            skipped += 1
            typer.echo(f"zoo: skipped: {error}", err=True)
            continue
        typer.echo(json.dumps(_plain(heard), ensure_ascii=False) if as_json else _lines(heard, len(files) > 1))
    if skipped:
        typer.echo(f"zoo: {skipped} of {len(files)} files skipped", err=True)
        raise typer.Exit(1)


def _refuse(files: list[str], stream: bool, beam: int | None, raw: dict[str, Any]) -> None:
    """Refuse what does not go together; before anything is loaded."""
    if not stream:
        if raw:
            raise ConfigError(f"--raw-{next(iter(raw))} is for what comes without a header: add --stream")
        if "-" in files:
            raise ConfigError("'-' is what is piped in: zoo transcribe --stream - transcribes it while it comes")
        return
    if len(files) != 1:
        raise ConfigError(f"--stream follows one sound, and {len(files)} were given: {', '.join(files)}")
    if beam is not None:
        raise ConfigError(f"--stream with --beam {beam}: a search tells nothing before the end; leave one of them out")
    if raw and "rate" not in raw:
        raise ConfigError(f"--raw-{next(iter(raw))} without --raw-rate: say how many samples there are in a second")


def _raw(given: dict[str, Any]) -> "Raw | None":
    from zoo.plugins.speech.cli.audio_stream import Raw

    return Raw(**given) if given else None


def _plain(heard: "Heard") -> dict[str, Any]:
    return {key: value for key, value in asdict(heard).items() if value is not None}


def _lines(heard: "Heard", named: bool) -> str:
    """Write a line for a file, or one for each word with its seconds; the file in front where there are several."""
    rows = [heard.text] if heard.words is None else [line_of(word) for word in heard.words]
    return "\n".join(f"{heard.file}\t{row}" if named else row for row in rows)
