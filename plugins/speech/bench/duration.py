"""Long audio: `speech-small` with windowed attention against full attention, and against itself at half the length."""

from functools import partial

import torch
from torch import Tensor, nn

import zoo
from zoo.bench import Case, Job

NAME, WINDOW, RATE, MINUTES = "speech-small", 640, 16_000, 10
"""The model; how far each vector looks, ms; samples in a second; length of the sound."""


def sound(minutes: float) -> Tensor:
    """Draw noise."""
    return 0.1 * torch.randn(1, int(60 * RATE * minutes), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def run(model: nn.Module, samples: Tensor) -> None:
    """Read a sound."""
    model(samples)


def beside_full(position: str) -> tuple[Job, Job]:
    """Make the job of the window and that of full attention; they have the same weights.

    Args:
        position: inside attention.
    """
    ours = zoo.create(NAME, window=WINDOW, position=position).eval()
    full = zoo.create(NAME, window="full", position=position, weights=ours.state_dict()).eval()
    samples = sound(MINUTES)
    return partial(run, ours, samples), partial(run, full, samples)


def doubled() -> tuple[Job, Job]:
    """Make the job of the sound, and that of half of it."""
    model = zoo.create(NAME, window=WINDOW).eval()
    return partial(run, model, sound(MINUTES)), partial(run, model, sound(MINUTES / 2))


CASES = [
    *(
        Case(
            f"{NAME}, window {WINDOW} ms, {position}, {MINUTES} minutes, forward{', memory' if memory else ''}",
            "itself, full attention",
            1 / 10 if memory else 1 / 15,
            build=partial(beside_full, position),
            memory=memory,
        )
        for position in ("rotary", "transformer-xl")
        for memory in (False, True)
    ),
    *(
        Case(
            f"{NAME}, window {WINDOW} ms, {MINUTES} minutes, forward{', memory' if memory else ''}",
            f"itself, {MINUTES / 2:g} minutes",
            2.15,
            build=doubled,
            memory=memory,
        )
        for memory in (False, True)
    ),
]
