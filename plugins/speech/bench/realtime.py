"""Real-time factor of a streaming Conformer: processing time over audio duration."""

from functools import partial
from typing import Any

import torch

import zoo
from zoo.bench import Case, Job, Seconds

NAME, RATE, SECONDS, LEFT = "conformer-small", 16_000, 6, 640
"""The model; samples in a second; length of the sound; how far back each vector looks, ms."""


def job(dtype: torch.dtype, milliseconds: int) -> tuple[Job, Seconds]:
    """Make the job, and say how long the sound lasts.

    Args:
        dtype: of the weights.
        milliseconds: of a chunk.
    """
    causal: dict[str, Any] = {"window": (LEFT, 0), "convolution": "causal", "normalise": "running"}
    model: Any = zoo.create(NAME, task="tag", num_classes=100, dtype=dtype, **causal).eval()
    sound = 0.1 * torch.randn(SECONDS * RATE, generator=torch.Generator().manual_seed(0))
    chunks = sound.split(RATE * milliseconds // 1000)

    def run() -> None:
        with model.stream() as stream:
            for chunk in chunks:
                stream.push(chunk)

    return run, float(SECONDS)


CASES = [
    Case(
        f"{NAME}, window {LEFT} ms back, stream of {milliseconds} ms chunks, {str(dtype).removeprefix('torch.')}",
        "the sound's duration",
        most,
        build=partial(job, dtype, milliseconds),
    )
    for dtype in (torch.bfloat16, torch.float32)
    for milliseconds, most in ((320, 0.1), (160, 0.1), (40, 0.3))
]
