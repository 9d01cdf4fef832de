"""The entries of `zoo.preprocess` and `zoo.postprocess`.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoo.plugins.speech.sources import SOUNDFILE, TOKENIZERS, TORCHAUDIO
from zoo.registry import require

if TYPE_CHECKING:
    from zoo.plugins.speech.io.postprocess import Postprocess
    from zoo.plugins.speech.io.preprocess import Preprocess


def preprocess(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Make what turns files and arrays into samples at 16 kHz and their lengths; in training at changed speeds."""
    require("preprocessing sounds", (SOUNDFILE, TORCHAUDIO))
    from zoo.plugins.speech.io.preprocess import Preprocess

    return Preprocess(train)


def postprocess(config: Mapping[str, Any]) -> "Postprocess":
    """Make what turns a model's answer into labels, or into what is said."""
    require("reading answers to sounds", (TOKENIZERS,))
    from zoo.plugins.speech.io.postprocess import Postprocess

    return Postprocess(config)
