"""Base class of audio corpora, with augmentation in training; and `ClipsCorpus` of labelled clips.

Axes: b sounds, t samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from zoo import ConfigError, DataError, ModelSpec
from zoo.data import (
    Batch,
    BatchedCorpus,
    DatasetInfo,
    augmentation_names,
    evaluation_mode,
    list_skipped,
    read_ahead,
    token_scores,
)
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.speech.data.audio_store import Files, UnreadableError
from zoo.plugins.speech.data.augmentation import CHANGES, Change, changed_by
from zoo.plugins.speech.io.preprocess import RATE

FRAME = LogMel(rate=RATE).length
"""Samples of the shortest sound."""
_SEEDS = {"train": 0, "validation": 1, "test": 2}


@runtime_checkable
class Sounds(Protocol):
    """Give sounds by their place."""

    lengths: Tensor
    """Samples of each."""

    def __getitem__(self, place: int) -> Tensor:
        """Give the samples of one, at 16 kHz."""


class Augmentation(NamedTuple):
    """Augmentation of sounds: in training, and in validation and test, the same each time; None for none."""

    training: Change | None = None
    evaluation: Change | None = None


UNCHANGED = Augmentation()


class SoundCorpus(BatchedCorpus):
    """Serve sounds in batches of nearly equal length.

    Args:
        about: the data.
        spec: of the model.
        sounds: of each part.
        augmentation: of the sounds.
    """

    unfit: tuple[str, ...] = ()
    """Augmentations by name that the targets leave no room for."""

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, sounds: Mapping[str, Sounds], augmentation: Augmentation = UNCHANGED
    ) -> None:
        super().__init__(about, spec, {split: part.lengths for split, part in sounds.items()})
        self.sounds = sounds
        self.augmentation = augmentation

    @property
    def reads_files(self) -> bool:
        """Whether sounds are read from files when they are needed."""
        return any(getattr(part, "reads_files", False) for part in self.sounds.values())

    def with_augmentation(self, names: str) -> "SoundCorpus":
        """See `AugmentsByName`: `none`, or any of `speed` and `noise`, with + between."""
        known = [name for name in CHANGES if name not in self.unfit]
        chosen = augmentation_names(names, ("none",), known)
        if "none" in chosen and len(chosen) > 1:
            raise ConfigError(f"augment={names!r}: 'none' is given alone")
        other = copy(self)
        other.augmentation = self.augmentation._replace(training=changed_by(chosen))
        return other

    @property
    def notes(self) -> tuple[str, ...]:
        """Name the sounds that were found to be unreadable when they were needed."""
        found = [each for part in self.sounds.values() if isinstance(part, Files) for each in part.skipped()]
        return (list_skipped(found, sum(self.sizes.values()), "recordings"),) if found else ()

    def batch(self, index: Int[Tensor, " b"], generator: torch.Generator) -> Batch:
        """Give a batch of training examples; the next one stands in for one that cannot be read."""
        places, state = index.tolist(), generator.get_state()
        while True:
            try:
                return self.examples("train", places, generator)
            except UnreadableError as error:
                generator.set_state(state)
                places = [self._after(place) if place == error.place else place for place in places]

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Give the batches of a split, long examples first; those that cannot be read are left out."""
        yield from (batch for _, batch in self.placed(split, batch_size))

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        """See `KnowsClasses.placed`."""
        calls = ((split, places) for places in self.places(split, batch_size))
        for places, batch in read_ahead(self.readable, calls):
            if batch is not None:
                yield places, batch

    def readable(self, split: str, places: Sequence[int]) -> tuple[Sequence[int], Batch | None]:
        """Give those of some examples that can be read, and their batch; None for none."""
        while places:
            try:
                return places, self.examples(split, places, None)
            except UnreadableError as error:
                places = [place for place in places if place != error.place]
        return places, None

    def _after(self, place: int) -> int:
        """Give the next training example that is not known to be unreadable."""
        part = self.sounds["train"]
        assert isinstance(part, Files)
        others = (other % len(part.rows) for other in range(place + 1, place + len(part.rows)))
        found = next((other for other in others if not part.is_broken(other)), None)
        if found is None:
            raise DataError(f"{self.name}: none of the recordings to train on can be read. {''.join(self.notes)}")
        return found

    def heard(
        self, split: str, places: Sequence[int], generator: torch.Generator | None
    ) -> tuple[Float[Tensor, "b t"], Int[Tensor, " b"]]:
        """Give sounds, 0 behind the shorter ones, and how many samples each has."""
        kept = [self._heard(split, place, generator) for place in places]
        return pad_sequence(kept, batch_first=True), torch.tensor([len(sound) for sound in kept])

    def least(self, split: str, place: int) -> int:
        """Say how many samples of a sound are needed."""
        return FRAME

    def _heard(self, split: str, place: int, generator: torch.Generator | None) -> Tensor:
        sound = self.sounds[split][place]
        change = self.augmentation.evaluation if generator is None else self.augmentation.training
        if change is None:
            return sound
        drawing = generator or torch.Generator().manual_seed(3 * place + _SEEDS[split])
        changed = change(sound, drawing)
        return sound if len(changed) < self.least(split, place) else changed


class ClipsCorpus(SoundCorpus):
    """Serve sounds with a label each.

    Args:
        about: the data.
        spec: of the model.
        sounds: of each part.
        classes: of each sound.
        labels: their names; the place in the list is the class.
        augmentation: of the sounds.
    """

    task = "classify"
    metric = "accuracy"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        sounds: Mapping[str, Sounds],
        classes: Mapping[str, Tensor],
        labels: Sequence[str],
        augmentation: Augmentation = UNCHANGED,
    ) -> None:
        super().__init__(about, spec, sounds, augmentation)
        self.classes = classes
        self.labels = list(labels)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give sounds, lengths and classes."""
        return Batch(self.heard(split, places, generator), self.classes[split][list(places)])

    def classes_of(self, split: str) -> Int[Tensor, " n"]:
        """See `KnowsClasses.classes_of`."""
        return self.classes[split]

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of sounds whose label the model ranks first, and the loss."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")
