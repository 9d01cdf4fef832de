"""`zoo transcribe --stream`: streaming speech recognition.

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

from zoo import ConfigError, InputError
from zoo.pipeline import Pipeline
from zoo.plugins.shared.audio.asr import AT_THE_END
from zoo.plugins.speech.cli.audio_stream import BLOCK, AudioStream, Block, Raw, blocks, named
from zoo.plugins.speech.cli.transcriber import recognised_by
from zoo.plugins.speech.cli.transcript_output import TranscriptOutput
from zoo.plugins.speech.cli.word_timestamps import PartialTranscript, WordDecoder
from zoo.plugins.speech.io.preprocess import RATE, ratio_of
from zoo.plugins.speech.io.streaming_resample import Resampling


def transcribe_stream(pipeline: Pipeline, file: str, raw: Raw | None, output: TranscriptOutput) -> None:
    """Transcribe an audio stream until it ends or is interrupted, and report latency and speed.

    Args:
        pipeline: of the model.
        file: a path, perhaps of a FIFO, or `-` for standard input.
        raw: format of raw samples; None where there is a header.
        output: prints the transcript.

    Raises:
        ConfigError: If the model cannot transcribe a stream.
        InputError: If the stream cannot be read to its end; what could be read is transcribed before.
    """
    by = checked(pipeline)
    failure = None
    with AudioStream(blocks(file, raw)) as stream, on_interrupt(stream.stop):
        transcriber = StreamingTranscriber(pipeline)
        if by == "joint":
            typer.echo("zoo: --stream uses the CTC head only; the decoder needs the whole audio", err=True)
        try:
            for block in stream:
                output.write(transcriber.push(block))
        except InputError as error:
            failure = error
        if transcriber.enough:
            output.write(transcriber.finish())
            output.end()
            typer.echo(f"zoo: {transcriber.report()}", err=True)
        elif not stream.stopped and failure is None:
            failure = InputError(
                f"{named(file)}: {transcriber.came} samples at {transcriber.rate} Hz are less than a frame, 25 ms"
            )
    if failure is not None:
        raise failure


def checked(pipeline: Pipeline) -> str:
    """Return how a model recognises speech, if it can do so from a stream.

    Raises:
        ConfigError: If it needs the whole audio, or is no model of speech recognition.
    """
    by = recognised_by(pipeline)
    if by == "attention":
        raise ConfigError(f"--stream with {pipeline.name!r}, made with {AT_THE_END}")
    return by


class StreamingTranscriber:
    """Transcribes a stream block by block: resampling, model, text and words.

    Args:
        pipeline: of the model; of one made with `joint`, only the CTC head is used.

    Raises:
        ConfigError: If a part of the model needs the whole audio.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        model = pipeline.model
        try:
            self.stream = model.stream()
        except ConfigError as error:
            raise ConfigError(f"--stream with {pipeline.name!r}: {error}") from error
        self.words = WordDecoder(pipeline.postprocess, model.symbols)
        self.resampling: Resampling | None = None
        self.device = pipeline.device
        self.came = 0
        """Samples so far, before resampling."""
        self.rate = RATE
        self.answers = 0
        self.seconds = 0.0
        """Computing time so far, s."""
        self.slowest = 0.0
        """Longest computing time of one block, s."""

    @property
    def enough(self) -> bool:
        """Whether there are samples for a frame."""
        samples = self.stream.samples
        if self.resampling is not None:
            samples = self.resampling.gives(self.came)
        return samples >= self.stream.stem.features.length

    def push(self, block: Block) -> PartialTranscript:
        """Return what is new after a block."""
        with self._timed():
            mono = block.samples.mean(1)
            if not self.came:
                self.rate = block.rate
                self.resampling = None if ratio_of(self.rate) == 1 else Resampling(self.rate)
            self.came += len(mono)
            if self.resampling is not None:
                mono = self.resampling.push(mono[None])[0]
            return self._decoded(mono)

    def finish(self) -> PartialTranscript:
        """Return what is new at the end of the stream."""
        partial = PartialTranscript()
        with self._timed():
            if self.resampling is not None:
                partial = self._decoded(self.resampling.push(torch.zeros(1, 0), last=True)[0])
            for last in (self.words.push(self.stream.finish()), self.words.finish()):
                partial = PartialTranscript(partial.text + last.text, partial.words + last.words)
        return partial

    def report(self) -> str:
        """Report duration, latency and speed."""
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

    def _decoded(self, samples: Float[Tensor, " t"]) -> PartialTranscript:
        return self.words.push(self.stream.push(samples.to(self.device)))


@contextmanager
def on_interrupt(do: Callable[[], None]) -> Iterator[None]:
    """Call a function at the first Ctrl-C; the next one interrupts.

    Args:
        do: may be called between any two steps of the program.
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
