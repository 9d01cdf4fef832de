"""Synthesis of one utterance at a time by espeak-ng."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from zoo import DataError
from zoo.plugins.shared.text.espeak import PROGRAM, run, version
from zoo.plugins.speech.data.synthetic.voices import Utterance
from zoo.plugins.speech.io.preprocess import resampled

HEADER = 44
"""Bytes of the WAV before the samples; the rate is told at byte 24."""

__all__ = ["PROGRAM", "speak", "version"]


def speak(utterance: Utterance) -> Float[Tensor, " t"]:
    """Give the samples of an utterance, at 16 kHz, without a pause behind it.

    Raises:
        DataError: If the program fails, or does not end.
    """
    text, accent, speaker, speed, pitch = utterance
    sound = run(["-v", f"{accent}+{speaker}", "-s", str(speed), "-p", str(pitch), "-z", "--stdout", text])
    if len(sound) <= HEADER:
        raise DataError(f"{PROGRAM} says nothing for {utterance}")
    samples = np.frombuffer(sound, dtype="<i2", offset=HEADER).astype(np.float32) / 2**15
    return resampled(torch.from_numpy(samples), int.from_bytes(sound[24:28], "little"))
