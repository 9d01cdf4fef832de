"""Streaming inference on audio: `with model.stream() as s: s.push(chunk)`.

1. Samples become frames, frames are normed by those before, two convolutions and the blocks follow: all are stages of
   `zoo.core.streaming.stages`, made by the parts of the model, so this file adds only what is asked of sounds.
2. Chunks of any sizes, one sample or an hour, give the vectors that the whole sound gives, each as soon as it can be.
3. What is kept depends on windows and kernels, and not on how long the sound is.
4. A vector that stands at t ms is given when the sound up to t + `latency` is there: its frame, and what is ahead.
5. Time is taken around each push: what the computer needs comes on top.
Axes: b sounds, t samples of a chunk, n vectors that are new, d classes or channels.
"""

from time import perf_counter
from types import TracebackType
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from zoo.core import Chain, Classify, ConfigError, InputError, StreamingStep, Tokens, latency, serving, stream_of
from zoo.plugins.shared.audio.config import TOKEN
from zoo.plugins.shared.audio.stems.frame_stem import check_values


class Streams:
    """Let a model of sounds answer while they come: a base beside `Model`, for models with a `FrameStem`."""

    def stream(self, batch: int = 1) -> "SoundStream":
        """Start a stream of a batch of sounds.

        Raises:
            ConfigError: If a part of the model has to see the whole sound; the text says which option makes one that
                need not.
        """
        return SoundStream(self, batch)

    def streaming_step(self) -> StreamingStep:
        """Give what a stream does for a chunk of log-mel frames as a function without a state, for exported programs.

        Raises:
            ConfigError: If a part of the model has to see the whole sound.
        """
        model: Any = self
        check_head(model.head)
        frames = model.stem.stream().stages[1:]
        return StreamingStep(model, Chain([*frames, stream_of(model.encoder, model.stem.pattern)]))


class SoundStream:
    """Answer sounds that come in chunks, as the model answers the whole, without gradients.

    Leaving the `with` finishes what has begun, and `rest` holds the last answers.

    Args:
        model: made of `stem`, a `FrameStem`, `encoder` and `head`, which answers each vector alone.
        batch: sounds that come side by side, in chunks of the same size.

    Raises:
        ConfigError: If a part of the model has to see the whole sound.
    """

    def __init__(self, model: Any, batch: int = 1) -> None:
        if batch < 1:
            raise ConfigError(f"batch={batch}: a stream is of at least one sound")
        check_head(model.head)
        self.stem, self.head = serving(model.stem), serving(model.head)
        self.stages = Chain([*self.stem.stream().stages, stream_of(serving(model.encoder), self.stem.pattern)])
        self.dtype = next(model.head.parameters(), next(model.stem.parameters())).dtype
        """Of the answers."""
        self.batch = batch
        self.samples = 0
        """Of each sound, so far."""
        self.nothing: Tensor | None = None
        """A chunk of no samples, like those that came."""
        self.ended = False
        self.rest: Tensor | None = None
        """What was answered when the sound ended."""
        self.pushes = 0
        self.seconds = 0.0
        """Spent on answers so far."""
        self.slowest = 0.0
        """The longest time for one chunk, ms."""

    def push(self, chunk: Tensor | NDArray[Any]) -> Float[Tensor, "b n d"]:
        """Process a chunk and give the answers that became ready, perhaps none.

        Args:
            chunk: the samples that follow (b, t), of PyTorch or NumPy, at 16 kHz, in -1 … 1; of one sound also without
                a batch axis.

        Raises:
            InputError: If shape, dtype, device or values do not fit, or the stream has ended.
        """
        self._check_open("push")
        chunk = torch.as_tensor(chunk)
        if chunk.ndim == 1 and self.batch == 1:
            chunk = chunk[None]
        self._check(chunk)
        self.nothing = chunk.new_zeros(self.batch, 0)
        self.samples += chunk.shape[1]
        return self._answer(chunk, last=False)

    def finish(self) -> Float[Tensor, "b n d"]:
        """End the sounds and give the last answers.

        Raises:
            InputError: If they are shorter than a frame, or have ended before.
        """
        self._check_open("finish")
        self.ended = True
        if self.samples < self.stem.features.length:
            self.stem.check(torch.zeros(self.batch, self.samples))
        assert self.nothing is not None
        self.rest = self._answer(self.nothing, last=True)
        return self.rest

    @property
    def latency(self) -> float:
        """Milliseconds of sound, from where a vector stands, that must be there before it is answered, at most."""
        features = self.stem.features
        token = TOKEN * features.rate // (1000 * features.step)
        ahead = latency(Chain(self.stages.stages[1:]), token)
        return 1000 * (features.length + ahead * features.step) / features.rate

    @property
    def milliseconds(self) -> float:
        """Time that a chunk took, on average."""
        return 1000 * self.seconds / max(self.pushes, 1)

    @property
    def real_time_factor(self) -> float:
        """Time spent for each second of sound, all sounds of the batch together; 0 before there was any."""
        return self.seconds * self.stem.features.rate / self.samples if self.samples else 0.0

    @property
    def stored(self) -> int:
        """How many numbers are kept."""
        return self.stages.stored

    def __enter__(self) -> "SoundStream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.ended and self.samples:
            self.finish()

    def _answer(self, chunk: Tensor, last: bool) -> Tensor:
        begin = perf_counter()
        with torch.no_grad():
            vectors = self.stages.push(as_read(chunk), last)
            if not vectors.shape[1]:  # a stage had nothing for those behind it
                vectors = next(self.stem.parameters()).new_zeros(self.batch, 0, self.head.dim)
            answers: Tensor = self.head(Tokens(vectors)).to(self.dtype)
        if answers.is_cuda:
            torch.cuda.synchronize(answers.device)
        took = perf_counter() - begin
        self.pushes += 1
        self.seconds += took
        self.slowest = max(self.slowest, 1000 * took)
        return answers

    def _check_open(self, what: str) -> None:
        if self.ended:
            raise InputError(f"{what} after the stream of {self.samples} samples has ended: begin another")

    def _check(self, chunk: Tensor) -> None:
        shape = tuple(chunk.shape)
        if chunk.ndim != 2 or shape[0] != self.batch:
            alone = " or (time,)" if self.batch == 1 else ""
            raise InputError(f"a chunk of shape {shape}: this stream reads samples ({self.batch}, time){alone}")
        if not chunk.is_floating_point():
            raise InputError(f"a chunk is {chunk.dtype}: samples lie in -1 … 1, divide whole numbers by the greatest")
        if self.nothing is not None and chunk.dtype is not self.nothing.dtype:
            raise InputError(f"a chunk is {chunk.dtype}, and those before were {self.nothing.dtype}")
        device = next(self.stem.parameters()).device
        if chunk.device != device:
            raise InputError(f"a chunk is on {chunk.device}, and the model on {device}: push chunk.to('{device}')")
        check_values(chunk, first=self.samples)


def check_head(head: Any) -> None:
    """Refuse a head that does not answer each vector alone.

    Raises:
        ConfigError: If it does not.
    """
    if isinstance(head, Classify):
        raise ConfigError(
            "task='classify' answers once, from the mean of a whole sound: a model with task='tag' or "
            "task='features' answers every vector as it comes"
        )


def as_read(chunk: Float[Tensor, "b t"]) -> Float[Tensor, "b t"]:
    """Give samples in the dtype in which features are computed; a copy, as who pushes may fill the chunk anew."""
    return chunk.to(torch.float64 if chunk.dtype is torch.float64 else torch.float32, copy=True)
