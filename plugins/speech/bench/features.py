"""From an hour of samples to log-mel features: in batches, beside torchaudio's function, which takes one at a time."""

from typing import Any

import torch
from torch import Tensor

import zoo
from zoo.bench import Case, Job

NAME, RATE, SECONDS, CLIPS, BATCH = "speech-small", 16_000, 10, 360, 24
"""The model whose features are taken; samples in a second; a clip's length; clips of an hour; clips at once."""


def jobs() -> tuple[Job, Job]:
    """Make our job and the peer's, on the same clips."""
    from torchaudio.compliance.kaldi import fbank

    model: Any = zoo.create(NAME)
    features, bands = model.stem.features, model.spec.config["bands"]
    clips = 0.1 * torch.randn(CLIPS, SECONDS * RATE, generator=torch.Generator().manual_seed(0))

    @torch.no_grad()
    def ours() -> list[Tensor]:
        return [features(batch) for batch in clips.split(BATCH)]

    @torch.no_grad()
    def theirs() -> list[Tensor]:
        return [fbank(clip[None], num_mel_bins=bands, sample_frequency=RATE) for clip in clips]

    return ours, theirs


CASES = [Case(f"fbank of an hour, clips of {SECONDS} s in batches of {BATCH}", "torchaudio, one by one", 1.0, jobs)]
