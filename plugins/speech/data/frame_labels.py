"""Frame classification data: concatenated clips with pauses, and a label for every 40 ms.

Axes: t samples.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo import ModelSpec
from zoo.core import IGNORED
from zoo.data import Batch, DatasetInfo, RaggedIds, evaluation_mode, token_scores
from zoo.plugins.shared.audio.lengths import quartered
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.shared.text.tokenizer import pad_rows
from zoo.plugins.speech.data.corpus import FRAME, UNCHANGED, Augmentation, SoundCorpus, Sounds
from zoo.plugins.speech.io.preprocess import RATE

CLIPS = (2, 5)
"""Clips that are concatenated."""
PAUSES = (0.05, 0.4)
"""Seconds before each clip, and behind the last."""
FEATURES = LogMel(rate=RATE)


class String(NamedTuple):
    """Say which clips follow each other, and how many samples of silence stand before each and behind the last."""

    clips: tuple[int, ...]
    pauses: tuple[int, ...]


class Concatenated:
    """Concatenated clips with pauses between them: samples of a string by its number.

    Args:
        clips: that are concatenated.
        strings: of them.
    """

    def __init__(self, clips: Sounds, strings: Sequence[String]) -> None:
        self.clips, self.strings = clips, strings
        counts = clips.lengths.tolist()
        self.lengths = torch.tensor([sum(each.pauses) + sum(counts[clip] for clip in each.clips) for each in strings])

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound."""
        clips, pauses = self.strings[place]
        pieces = [torch.zeros(pauses[0])]
        for clip, pause in zip(clips, pauses[1:], strict=True):
            pieces += [self.clips[clip], torch.zeros(pause)]
        return torch.cat(pieces)

    def heard_at(self, place: int, classes: Tensor, silence: int) -> list[int]:
        """Give the class of the clip that is heard in the middle of the frame of each vector.

        Args:
            place: of the sound.
            classes: of the clips.
            silence: the class of pauses.
        """
        clips, pauses = self.strings[place]
        counts = self.clips.lengths
        found = torch.full((int(self.lengths[place]),), silence)
        start = 0
        for clip, pause in zip(clips, pauses, strict=False):
            start += pause
            found[start : start + int(counts[clip])] = classes[clip]
            start += int(counts[clip])
        vectors = quartered(FEATURES.count(len(found)))
        return found[FRAME // 2 :: 4 * FEATURES.step][:vectors].tolist()


def strings(speakers: Sequence[str], count: int, rng: random.Random) -> list[String]:
    """Draw strings of clips that one speaker says.

    Args:
        speakers: of each clip.
        count: strings.
        rng: draws them.
    """
    clips: dict[str, list[int]] = {}
    for clip, speaker in enumerate(speakers):
        clips.setdefault(speaker, []).append(clip)
    found = []
    for _ in range(count):
        drawn = rng.choices(clips[rng.choice(list(clips))], k=rng.randint(*CLIPS))
        found.append(String(tuple(drawn), tuple(int(rng.uniform(*PAUSES) * RATE) for _ in range(len(drawn) + 1))))
    return found


class FramesCorpus(SoundCorpus):
    """Serve strings of clips with a label for every 40 ms.

    Args:
        about: the data.
        spec: of the model.
        sounds: of each part.
        classes: of the clips of each part.
        labels: names of the classes; the one behind them all is silence.
        augmentation: of the sounds; keeps their length.
    """

    task = "tag"
    metric = "accuracy"
    unfit = ("speed",)

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        sounds: Mapping[str, Concatenated],
        classes: Mapping[str, Tensor],
        labels: Sequence[str],
        augmentation: Augmentation = UNCHANGED,
    ) -> None:
        super().__init__(about, spec, sounds, augmentation)
        self.labels = [*labels, "silence"]
        self.rows = {
            split: RaggedIds([part.heard_at(place, classes[split], len(labels)) for place in range(len(part.strings))])
            for split, part in sounds.items()
        }

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give sounds, lengths, and the class of each vector."""
        target, _ = pad_rows([self.rows[split][place] for place in places], IGNORED)
        return Batch(self.heard(split, places, generator), target)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of vectors whose label the model ranks first, and the loss."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")
