"""The entry of `zoo.preprocess`; nothing heavy is imported before a library that is missing was named."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoo.entries import require
from zoo.plugins.speech.sources import SOUNDFILE, TORCHAUDIO

if TYPE_CHECKING:
    from zoo.plugins.speech.reader import Preprocess


def preprocess(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Make what turns files and arrays into samples at 16 kHz and their lengths; in training at changed speeds."""
    require("preprocessing sounds", (SOUNDFILE, TORCHAUDIO))
    from zoo.plugins.speech.reader import Preprocess

    return Preprocess(train)
