"""What is said in a file: `Listener` holds a model that transcribes."""

from dataclasses import dataclass
from typing import Any

from zoo import pipeline
from zoo.core.generation.stepping import evaluating
from zoo.errors import ConfigError
from zoo.factory import create as build
from zoo.plugins.shared.audio.ctc_alignment import align
from zoo.plugins.speech.cli.word_timestamps import Word, words_of


@dataclass(frozen=True)
class Heard:
    """Hold what was said in a file, with its score, and when, if that was asked."""

    file: str
    text: str
    score: float
    words: tuple[Word, ...] | None = None


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
        by = recognised_by(name)  # before weights are fetched
        if timestamps and by == "attention":
            raise ConfigError(
                f"--timestamps with {name!r}, made with by={by!r}: only models made with by='ctc' or by='joint' tell "
                "when a token was said"
            )
        self.model = pipeline.load(name, device)
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
        with evaluating(self.model.modules()):
            scores, lengths = self.model.emit(*sound)
        (tokens,) = align(scores, lengths, ids)
        return words_of(tokens, self.show)


def recognised_by(name: str) -> str:
    """Tell how a model recognises what is said: by `ctc`, `attention` or `joint`; nothing is loaded.

    Raises:
        ConfigError: If it does not transcribe sounds.
    """
    spec = build.info(name)
    by: str | None = spec.config.get("by")
    if spec.modality != "speech" or spec.task != "generate" or by is None:
        raise ConfigError(
            f"{name!r} is a '{spec.name}' for task '{spec.task}', which transcribes no sounds: "
            "zoo train speech-tiny --data spoken-digits:strings makes a model that does"
        )
    return by
