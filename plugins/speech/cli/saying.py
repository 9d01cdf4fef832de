"""`zoo say TEXT… --model CHECKPOINT`: texts as files of sound."""

from pathlib import Path
from typing import Annotated, Any

import typer

from zoo import pipeline
from zoo.errors import ConfigError
from zoo.factory import create as build
from zoo.plugins.speech.io.tts_postprocess import speaks
from zoo.plugins.speech.sources import SOUNDFILE
from zoo.registry.entry_loading import require

ENDINGS = (".wav", ".flac", ".ogg")
RATE = 16_000
"""Samples in a second."""


def say(
    model: Annotated[str, typer.Option(help="Folder that `zoo train` wrote, or hf-hub:org/name.", show_default=False)],
    texts: Annotated[list[str] | None, typer.Argument(help="What is said; else what is piped.")] = None,
    file: Annotated[str | None, typer.Option(help="Say each line of it.")] = None,
    out: Annotated[Path, typer.Option(help="WAV, FLAC or OGG; several texts are numbered.")] = Path("said.wav"),
    device: pipeline.Device = "cpu",
) -> None:
    """Say texts: a file of sound for each."""
    pipeline.refuse_out(out, ENDINGS)
    name = pipeline.reference(model)
    spec = build.info(name)
    if not speaks(spec):
        raise ConfigError(
            f"{name!r} is a '{spec.name}', which does not speak: zoo train speech-synthesis-tiny --data one-voice "
            "makes a model that does"
        )
    lines = pipeline.given(texts, file)
    pipeline.refuse_empty(lines)
    require("zoo say", (SOUNDFILE,))
    speaker: Any = pipeline.load(name, device)
    read, show = build.preprocess(name), build.postprocess(name)
    for number, line in enumerate(lines, start=1):
        spoken = speaker.generate(*(each.to(device) for each in read([line])))
        (samples,) = show(spoken)
        path = out.with_stem(f"{out.stem}-{number}") if len(lines) > 1 else out
        _write(path, samples)
        typer.echo(f"{path}\t{len(samples) / RATE:.2f} s\t{line}")
        if int(spoken.lengths) == speaker.max_steps * speaker.step[0]:
            typer.echo(f"zoo: {str(path)!r} is cut: the model found no end of {line!r}", err=True)


def _write(path: Path, samples: Any) -> None:
    import soundfile

    try:
        soundfile.write(path, samples.cpu().numpy(), RATE)
    except (soundfile.SoundFileError, OSError) as error:
        raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error
