"""Preprocessing example and postprocessing of `speech-synthesis-…`: from frames to samples.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoo import ModelSpec
from zoo.plugins.speech.sources import TORCHAUDIO
from zoo.registry import require

if TYPE_CHECKING:
    from torch import Tensor

    from zoo.plugins.speech.models.text_to_speech import SpeechOutput

CHARACTERS, STEPS = 12, 10
"""Of the longest text of an example, and of all its sounds."""


def speaks(spec: ModelSpec) -> bool:
    """Tell whether a model makes speech of texts."""
    return spec.modality == "speech" and spec.reads == "source"


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> "tuple[Tensor, Tensor, Tensor]":
    """Draw texts, their lengths, and frames around 0."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, config["vocab_size"], (batch_size, CHARACTERS), generator=generator)
    lengths = torch.linspace(CHARACTERS, CHARACTERS // 4, batch_size).long()
    frames = torch.randn(batch_size, STEPS, config["reduction"], config["bands"], generator=generator)
    return ids, lengths, frames


class Sounds:
    """Turn the spectrogram that a model generated into samples at 16 kHz.

    Args:
        bands: of a frame.
    """

    def __init__(self, bands: int) -> None:
        from zoo.plugins.shared.audio.log_mel import LogMel

        self.features = LogMel(bands)

    def __call__(self, spoken: "SpeechOutput") -> "list[Tensor]":
        """Give the samples of each text, in -1 … 1: louder ones are made softer as a whole."""
        from zoo.plugins.shared.audio.griffin_lim import waveform

        found = []
        for frames, length in zip(spoken.frames, spoken.lengths.tolist(), strict=True):
            samples = waveform(frames[None, :length], self.features)[0]
            found.append(samples / samples.abs().max().clamp(min=1))
        return found

    def portable(self) -> dict[str, Any]:
        """Describe the steps from what the model writes to samples as JSON values, for exported models."""
        from zoo.plugins.shared.audio.log_mel import EMPHASIS, LOWEST
        from zoo.plugins.speech.models.text_to_speech import DEVIATION, MEAN

        mel = self.features
        sizes = {"rate": mel.rate, "bands": mel.bands, "length": mel.length, "step": mel.step}
        return {"kind": "sound", **sizes, "emphasis": EMPHASIS, "lowest": LOWEST, "mean": MEAN, "deviation": DEVIATION}


def postprocess(config: Mapping[str, Any]) -> Sounds:
    """Make what turns a model's answer into samples."""
    require("making sound of frames", (TORCHAUDIO,))
    return Sounds(config["bands"])
