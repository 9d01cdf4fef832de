"""`zoo transcribe --stream`: what is said, while it is said.

Axes: t samples.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import torch
import typer
from jaxtyping import Float
from torch import Tensor

from zoo import pipeline
from zoo.errors import ConfigError, InputError
from zoo.factory import create as build
from zoo.plugins.shared.audio.asr import AT_THE_END
from zoo.plugins.speech.cli.audio_stream import BLOCK, Arriving, Block, Raw, blocks, named
from zoo.plugins.speech.cli.transcriber import recognised_by
from zoo.plugins.speech.cli.transcript_output import Teller
from zoo.plugins.speech.cli.word_timestamps import Said, Spoken
from zoo.plugins.speech.io.preprocess import RATE, ratio_of
from zoo.plugins.speech.io.streaming_resample import Resampling


def follow(name: str, file: str, raw: Raw | None, device: str, teller: Teller) -> None:
    """Transcribe a sound while it comes, until it ends or is interrupted, and report how late that was.

    Args:
        name: of the model, as for `zoo.create`.
        file: a path, perhaps of a FIFO, or `-` for standard input.
        raw: how samples are written that have no header.
        device: where the model computes.
        teller: tells what is said.

    Raises:
        ConfigError: If the model cannot transcribe a sound that still comes.
        InputError: If the sound cannot be read to its end; what was heard of it is told before.
    """
    by = checked(name)
    failure = None
    with Arriving(blocks(file, raw)) as arriving, on_interrupt(arriving.stop):
        live = Live(name, device)
        if by == "joint":
            typer.echo("zoo: what the vectors emit is told; the decoder, which reads the whole, is not asked", err=True)
        try:
            for block in arriving:
                teller.say(live.push(block))
        except InputError as error:
            failure = error
        if live.enough:
            teller.say(live.finish())
            teller.end()
            typer.echo(f"zoo: {live.report()}", err=True)
        elif not arriving.stopped and failure is None:
            failure = InputError(f"{named(file)}: {live.came} samples at {live.rate} Hz are less than a frame, 25 ms")
    if failure is not None:
        raise failure


def checked(name: str) -> str:
    """Give the way in which a model recognises.

    Raises:
        ConfigError: If it writes only when the sound has ended, or does not transcribe.
    """
    by = recognised_by(name)
    if by == "attention":
        raise ConfigError(f"--stream with {name!r}, made with {AT_THE_END}")
    return by


class Live:
    """Hold a model that answers while a sound comes, with what makes its samples and its words.

    Args:
        name: of the model, as for `zoo.create`; by `joint`, only its emitter is asked.
        device: where it computes.

    Raises:
        ConfigError: If a part of the model has to see the whole sound.
    """

    def __init__(self, name: str, device: str = "cpu") -> None:
        model = pipeline.load(name, device)
        try:
            self.stream = model.stream()
        except ConfigError as error:
            raise ConfigError(f"--stream with {name!r}: {error}") from error
        self.spoken = Spoken(build.postprocess(name), model.symbols)
        self.resampling: Resampling | None = None
        self.device = device
        self.came = 0
        """Samples, before they are resampled."""
        self.rate = RATE
        self.answers = 0
        self.seconds = 0.0
        """Spent on answers so far, from samples to words."""
        self.slowest = 0.0
        """The longest time for one answer, s."""

    @property
    def enough(self) -> bool:
        """Whether there is a frame."""
        samples = self.stream.samples
        if self.resampling is not None:
            samples = self.resampling.gives(self.came)
        return samples >= self.stream.stem.features.length

    def push(self, block: Block) -> Said:
        """Say what is new when these samples came."""
        with self._timed():
            mono = block.samples.mean(1)
            if not self.came:
                self.rate = block.rate
                self.resampling = None if ratio_of(self.rate) == 1 else Resampling(self.rate)
            self.came += len(mono)
            if self.resampling is not None:
                mono = self.resampling.push(mono[None])[0]
            return self._spoken(mono)

    def finish(self) -> Said:
        """Say what is new when the sound has ended."""
        said = Said()
        with self._timed():
            if self.resampling is not None:
                said = self._spoken(self.resampling.push(torch.zeros(1, 0), last=True)[0])
            for last in (self.spoken.push(self.stream.finish()), self.spoken.finish()):
                said = Said(said.text + last.text, said.words + last.words)
        return said

    def report(self) -> str:
        """Tell how much was heard, and how late and how fast it was answered."""
        ahead = 0 if self.resampling is None else 1000 * self.resampling.ahead / self.rate
        return (
            f"{self.came / self.rate:.2f} s of sound; latency {self.stream.latency + ahead + BLOCK:.0f} ms, {BLOCK} of "
            f"them for blocks, and {1000 * self.seconds / self.answers:.1f} ms of computing, at most "
            f"{1000 * self.slowest:.1f}; real-time factor {self.seconds * self.rate / self.came:.3f}"
        )

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = perf_counter()
        yield
        took = perf_counter() - begin
        self.answers += 1
        self.seconds += took
        self.slowest = max(self.slowest, took)

    def _spoken(self, samples: Float[Tensor, " t"]) -> Said:
        return self.spoken.push(self.stream.push(samples.to(self.device)))


@contextmanager
def on_interrupt(do: Callable[[], None]) -> Iterator[None]:
    """Do something at the first Ctrl-C; the next is as ever.

    Args:
        do: may come between any two steps of the program.
    """
    before = signal.getsignal(signal.SIGINT)

    def once(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        do()

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
