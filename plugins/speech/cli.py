"""`zoo transcribe FILE… --model CHECKPOINT`: what is said in files of sound, and when."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo import build
from zoo.cli import checkpoint
from zoo.errors import ConfigError, InputError

if TYPE_CHECKING:
    from zoo.plugins.sound.align import Aligned

Show = Callable[[Any], list[str]]
"""Turns rows of ids, or what `generate` gave, into texts."""


@dataclass(frozen=True)
class Word:
    """Say when a word was said, in ms from the begin of the sound."""

    word: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class Heard:
    """Hold what was said in a file, with its score, and when, if that was asked."""

    file: str
    text: str
    score: float
    words: tuple[Word, ...] | None = None


def transcribe(
    files: Annotated[list[str], typer.Argument(help="Files of sound: WAV, FLAC, OGG.", show_default=False)],
    model: Annotated[str, typer.Option(help="Folder that `zoo train` wrote, or hf-hub:org/name.", show_default=False)],
    beam: Annotated[
        int | None, typer.Option(help="Transcripts that are followed at once. [default: the model's own]")
    ] = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Tell when each word begins and ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    device: checkpoint.Device = "cpu",
) -> None:
    """Write down what is said in files of sound; those that cannot be read are named, skipped and counted."""
    listener = Listener(checkpoint.reference(model), device, beam, timestamps)
    from zoo.plugins.corpora.progress import shown

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


class Listener:
    """Hold a model that transcribes, what prepares its sounds, and what turns its ids into text.

    Args:
        name: of the model, as for `zoo.create`.
        device: where it computes.
        beam: transcripts that are followed at once; the model's own number if None.
        timestamps: whether words are told with their times.

    Raises:
        ConfigError: If the model does not transcribe sounds, or cannot tell times.
    """

    def __init__(self, name: str, device: str, beam: int | None = None, timestamps: bool = False) -> None:
        spec = build.info(name)  # before weights are fetched
        if spec.modality != "speech" or spec.task != "generate" or spec.config.get("by") is None:
            raise ConfigError(
                f"{name!r} is a '{spec.name}' for task '{spec.task}', which transcribes no sounds: "
                "zoo train speech-tiny --data spoken-digits:strings makes a model that does"
            )
        self.model = checkpoint.load(name, device)
        if timestamps and not hasattr(self.model, "emit"):
            raise ConfigError(
                f"--timestamps with {name!r}, made with by='{spec.config['by']}': only models made with by='ctc' or "
                "by='joint' tell when a token was said"
            )
        self.device, self.timestamps = device, timestamps
        self.wishes = {} if beam is None else {"beam": beam}
        self.read, self.show = build.preprocess(name), build.postprocess(name)

    def hear(self, file: str) -> Heard:
        """Transcribe a file.

        Raises:
            InputError: If it cannot be read as sound.
        """
        sound = [part.to(self.device) for part in self.read(file)]
        found = self.model.generate(*sound, **self.wishes)
        (text,) = self.show(found)
        words = self._words(sound, found.best()) if self.timestamps else None
        return Heard(file, text, float(found.scores[0, 0]), words)

    def _words(self, sound: list[Any], ids: list[list[int]]) -> tuple[Word, ...]:
        from zoo.core.reading import evaluating
        from zoo.plugins.sound.align import align

        with evaluating(self.model.modules()):
            scores, lengths = self.model.emit(*sound)
        (tokens,) = align(scores, lengths, ids)
        return words_of(tokens, self.show)


def words_of(tokens: Sequence["Aligned"], show: Show) -> tuple[Word, ...]:
    """Join tokens to the words they write; what stands between words belongs to none.

    Args:
        tokens: in their order.
        show: turns rows of ids into texts.
    """
    ids = [each.token for each in tokens]
    texts = [text.rstrip() for text in show([ids[: count + 1] for count in range(len(ids))])]
    times: list[tuple[int, int]] = []
    for each, text, before in zip(tokens, texts, ["", *texts], strict=False):
        if len(text.split()) > len(times):
            times.append((each.start_ms, each.end_ms))
        elif text != before:
            times[-1] = times[-1][0], each.end_ms
    names = texts[-1].split() if texts else []
    return tuple(Word(name, *pair) for name, pair in zip(names, times, strict=True))


def _plain(heard: Heard) -> dict[str, Any]:
    return {key: value for key, value in asdict(heard).items() if value is not None}


def _lines(heard: Heard, named: bool) -> str:
    """Write a line for a file, or one for each word with its seconds; the file in front where there are several."""
    rows = [heard.text]
    if heard.words is not None:
        rows = [f"{word.start_ms / 1000:.2f}\t{word.end_ms / 1000:.2f}\t{word.word}" for word in heard.words]
    return "\n".join(f"{heard.file}\t{row}" if named else row for row in rows)
