"""`zoo say TEXT… --model CHECKPOINT`: text to speech."""

from pathlib import Path
from typing import Annotated, Any

import typer

from zoo import ConfigError
from zoo.cli import Device, Int8, Model, check_not_empty, check_out, read_inputs
from zoo.data import atomic_path
from zoo.pipeline import Pipeline
from zoo.plugins.speech.io.tts_postprocess import speaks
from zoo.plugins.speech.sources import SOUNDFILE
from zoo.registry import require

ENDINGS = (".wav", ".flac", ".ogg")
RATE = 16_000
"""Sample rate, Hz."""


def say(
    model: Model,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts; by default the lines of standard input.")] = None,
    file: Annotated[str | None, typer.Option(help="Read one text from each line of this file; - is stdin.")] = None,
    out: Annotated[Path, typer.Option(help="WAV, FLAC or OGG file; numbered for several texts.")] = Path("said.wav"),
    device: Device = "cpu",
    int8: Int8 = False,
) -> None:
    """Text to speech: an audio file for each text."""
    check_out(out, ENDINGS)
    pipeline = Pipeline(model, device, int8=int8)
    spec = pipeline.spec
    if not speaks(spec):
        raise ConfigError(
            f"{pipeline.name!r} is a '{spec.name}', which does not speak: zoo train speech-synthesis-tiny --data "
            "one-voice makes a model that does"
        )
    lines = read_inputs(texts, file)
    check_not_empty(lines)
    require("zoo say", (SOUNDFILE,))
    for number, line in enumerate(lines, start=1):
        spoken = pipeline.model.generate(*pipeline.inputs([line]))
        (samples,) = pipeline.postprocess(spoken)
        path = out.with_stem(f"{out.stem}-{number}") if len(lines) > 1 else out
        _write(path, samples)
        typer.echo(f"{path}\t{len(samples) / RATE:.2f} s\t{line}")
        if int(spoken.lengths) == pipeline.model.max_steps * pipeline.model.step[0]:
            typer.echo(f"zoo: {str(path)!r} is cut: the model found no end of {line!r}", err=True)


def _write(path: Path, samples: Any) -> None:
    import soundfile

    try:
        with atomic_path(path) as scratch:
            soundfile.write(scratch, samples.cpu().numpy(), RATE)
    except (soundfile.SoundFileError, OSError) as error:
        raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error
