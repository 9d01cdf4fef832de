"""espeak-ng, the text-to-speech program: its path, its version, and synthesis of one utterance at a time."""

import re
import shutil
import subprocess

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from zoo import DataError
from zoo.plugins.speech.data.synthetic.voices import Utterance
from zoo.plugins.speech.io.preprocess import resampled

PROGRAM = "espeak-ng"
OLDEST = (1, 50)
"""The first version that has all the voices: a variant that is not there is left out without a word."""
HEADER = 44
"""Bytes of the WAV before the samples; the rate is told at byte 24."""
SECONDS = 60.0
"""That the program may take for an utterance; one that takes so long hangs."""
INSTALL = "apt-get install espeak-ng, brew install espeak-ng, or see github.com/espeak-ng/espeak-ng"


def version() -> str:
    """Give the version of the program.

    Raises:
        DataError: If it is not there, or too old.
    """
    if shutil.which(PROGRAM) is None:
        raise DataError(f"these data need the program {PROGRAM}, and it is not installed: {INSTALL}")
    version = _run(["--version"]).decode(errors="replace")
    found = re.search(r"(\d+)\.(\d+)[\w.]*", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise DataError(
            f"these data need {PROGRAM} {'.'.join(map(str, OLDEST))} or newer, here is {version.strip()!r}: {INSTALL}"
        )
    return found[0]


def speak(utterance: Utterance) -> Float[Tensor, " t"]:
    """Give the samples of an utterance, at 16 kHz, without a pause behind it.

    Raises:
        DataError: If the program fails, or does not end.
    """
    text, accent, speaker, speed, pitch = utterance
    sound = _run(["-v", f"{accent}+{speaker}", "-s", str(speed), "-p", str(pitch), "-z", "--stdout", text])
    if len(sound) <= HEADER:
        raise DataError(f"{PROGRAM} says nothing for {utterance}")
    samples = np.frombuffer(sound, dtype="<i2", offset=HEADER).astype(np.float32) / 2**15
    return resampled(torch.from_numpy(samples), int.from_bytes(sound[24:28], "little"))


def _run(arguments: list[str]) -> bytes:
    command = [PROGRAM, *arguments]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        why = error.stderr.decode(errors="replace").strip() if isinstance(error, subprocess.CalledProcessError) else ""
        raise DataError(f"{' '.join(command)} failed: {why or error}") from error
