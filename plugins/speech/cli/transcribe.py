"""`zoo transcribe FILE… --model CHECKPOINT`: speech recognition of audio files, or of an audio stream."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo import ConfigError, InputError
from zoo.cli import Device, Int8, Model, ReadWorkers
from zoo.pipeline import Pipeline
from zoo.plugins.speech.cli.transcript_output import line_of, output_for

if TYPE_CHECKING:
    from zoo.plugins.speech.cli.audio_stream import Raw
    from zoo.plugins.speech.cli.transcriber import Transcription


def transcribe(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Audio files: WAV, FLAC, OGG. With --stream one file, a FIFO, or - for standard input.",
            show_default=False,
        ),
    ],
    model: Model,
    beam: Annotated[int | None, typer.Option(help="Beam size.", show_default="the model's own")] = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Print the start and end of each word.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines: one for each file, with --stream one for each word.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Streaming recognition: transcribe one audio stream as it arrives.")
    ] = False,
    raw_rate: Annotated[
        int | None,
        typer.Option(help="Sample rate of a stream of raw samples (without a header), Hz.", show_default=False),
    ] = None,
    raw_format: Annotated[
        str | None, typer.Option(help="Sample format of a raw stream, as ffmpeg names it.", show_default="s16le")
    ] = None,
    raw_channels: Annotated[
        int | None, typer.Option(help="Number of channels of a raw stream.", show_default="1")
    ] = None,
    device: Device = "cpu",
    workers: ReadWorkers = None,
    int8: Int8 = False,
) -> None:
    """Transcribe speech in audio files; files that cannot be read are skipped, named and counted."""
    raw = {"rate": raw_rate, "format": raw_format, "channels": raw_channels}
    given = {key: value for key, value in raw.items() if value is not None}
    _check(files, stream, beam, given)
    pipeline = Pipeline(model, device, task="generate", workers=workers, int8=int8)
    if stream:
        from zoo.plugins.speech.cli.stream_transcribe import transcribe_stream

        transcribe_stream(pipeline, files[0], _raw(given), output_for(timestamps, as_json))
        return
    from zoo.data import shown
    from zoo.plugins.speech.cli.transcriber import Transcriber

    transcriber = Transcriber(pipeline, beam, timestamps)
    skipped: list[str] = []

    def skip(file: str, error: InputError) -> None:
        skipped.append(file)
        typer.echo(f"zoo: skipped: {error}", err=True)

    for found in shown(transcriber.transcribe(files, skip), len(files), "transcribing"):
        typer.echo(json.dumps(_plain(found), ensure_ascii=False) if as_json else _lines(found, len(files) > 1))
    if skipped:
        typer.echo(f"zoo: {len(skipped)} of {len(files)} file{'s' if len(files) > 1 else ''} skipped", err=True)
        raise typer.Exit(1)


def _check(files: list[str], stream: bool, beam: int | None, raw: dict[str, Any]) -> None:
    """Check that the options go together, before anything is loaded."""
    if not stream:
        if raw:
            raise ConfigError(f"--raw-{next(iter(raw))} is for raw samples, without a header: add --stream")
        if "-" in files:
            raise ConfigError("'-' is standard input: zoo transcribe --stream - transcribes it as it arrives")
        return
    if len(files) != 1:
        raise ConfigError(f"--stream transcribes one stream, and {len(files)} were given: {', '.join(files)}")
    if beam is not None:
        raise ConfigError(
            f"--stream with --beam {beam}: beam search gives nothing before the end; leave one of them out"
        )
    if raw and "rate" not in raw:
        raise ConfigError(f"--raw-{next(iter(raw))} without --raw-rate: give the sample rate too")


def _raw(given: dict[str, Any]) -> "Raw | None":
    from zoo.plugins.speech.cli.audio_stream import Raw

    return Raw(**given) if given else None


def _plain(found: "Transcription") -> dict[str, Any]:
    return {key: value for key, value in asdict(found).items() if value is not None}


def _lines(found: "Transcription", named: bool) -> str:
    """Format a line for a file, or one for each word with its times; the file name in front if there are several."""
    rows = [found.text] if found.words is None else [line_of(word) for word in found.words]
    return "\n".join(f"{found.file}\t{row}" if named else row for row in rows)
