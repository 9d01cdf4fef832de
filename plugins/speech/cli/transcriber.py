"""`Transcriber`: speech recognition of audio files, with word timestamps."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zoo import ConfigError, InputError
from zoo.core import evaluating
from zoo.pipeline import Pipeline
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.shared.audio.ctc_alignment import align
from zoo.plugins.shared.text.ctc_labels import ctc_labels
from zoo.plugins.speech.cli.word_timestamps import Word, words_of
from zoo.weights import fetch_tokenizer, is_repository


@dataclass(frozen=True)
class Transcription:
    """Transcript of a file, with its score, and word timestamps if they were asked for."""

    file: str
    text: str
    score: float
    words: tuple[Word, ...] | None = None


class Transcriber:
    """Transcribes audio files.

    Args:
        pipeline: of the model.
        beam: beam size; the model's own if None.
        timestamps: whether transcripts have word timestamps.

    Raises:
        ConfigError: If the model is none of speech recognition, or has no timestamps.
    """

    def __init__(self, pipeline: Pipeline, beam: int | None = None, timestamps: bool = False) -> None:
        by = recognised_by(pipeline)  # before weights are fetched
        if timestamps and by == "attention":
            raise ConfigError(
                f"--timestamps with {pipeline.name!r}, made with by={by!r}: only models made with by='ctc' or "
                "by='joint' tell when a token was said"
            )
        self.pipeline, self.timestamps = pipeline, timestamps
        self.options = {} if beam is None else {"beam": beam}
        self.model = pipeline.model

    def transcribe(
        self, files: Iterable[str], skip: Callable[[str, InputError], None] | None = None
    ) -> Iterator[Transcription]:
        """Transcribe files, in order; they are read ahead.

        Args:
            files: their paths.
            skip: called with files that cannot be read as audio; by default the first such error is raised.

        Raises:
            InputError: If a file cannot be read as audio.
        """
        for file, sound in self.pipeline.read(files, skip):
            yield self._transcribed(file, sound)

    def _transcribed(self, file: str, sound: tuple[Any, ...]) -> Transcription:
        found = self.model.generate(*sound, **self.options)
        (text,) = self.pipeline.postprocess(found)
        words = self._words(sound, found.best()) if self.timestamps else None
        return Transcription(file, text, float(found.scores[0, 0]), words)

    def _words(self, sound: tuple[Any, ...], ids: list[list[int]]) -> tuple[Word, ...]:
        with evaluating(self.model.modules()):
            scores, lengths = self.model.emit(*sound)
        (tokens,) = align(scores, lengths, ids, self.model.symbols, token_ms(self.pipeline.spec.config))
        return words_of(tokens, self.pipeline.postprocess)


def recognised_by(pipeline: Pipeline) -> str:
    """Return how a model recognises speech: by `ctc`, `attention` or `joint`; no weights are loaded.

    Raises:
        ConfigError: If it is no model of speech recognition.
    """
    spec = pipeline.spec
    by: str | None = spec.config.get("by")
    if spec.modality != "speech" or spec.task != "generate" or by is None:
        raise ConfigError(
            f"{pipeline.name!r} is a '{spec.name}' for task '{spec.task}', which transcribes no sounds: "
            "zoo train speech-tiny --data spoken-digits:strings makes a model that does"
        )
    if not is_repository(pipeline.name):
        _check_vocabulary(pipeline)
    return by


def _check_vocabulary(pipeline: Pipeline) -> None:
    """Check that published weights were trained to write, before they are fetched."""
    config, spec = pipeline.postprocess.config, pipeline.spec
    where = config.get("repository", config.get("default"))
    if fetch_tokenizer(where) is None and not ctc_labels(where):
        tags = ", ".join(f"{spec.name}.{tag}" for tag, other in spec.weights.items() if other != where)
        raise ConfigError(
            f"{pipeline.name!r}: its weights {where!r} have no vocabulary, as they were not trained to write. Other "
            f"weights are {tags}"
        )
