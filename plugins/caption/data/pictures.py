"""Pictures as a model reads them: in memory, or from files when they are needed."""

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo import ConfigError, InputError, ModelSpec
from zoo.data import Skipped, list_skipped
from zoo.plugins.caption.data.skip_log import SkipLog
from zoo.registry import load


class Pictures:
    """Prepare pictures as `zoo.preprocess` of the model does; those in memory once, files each time.

    Args:
        raw: paths, or pixels (height, width, channels) as bytes.
        spec: of the model.
    """

    def __init__(self, raw: Sequence[Any], spec: ModelSpec) -> None:
        self.raw, self.spec = raw, spec
        self.skipped = SkipLog() if self.on_disk else None

    @property
    def on_disk(self) -> bool:
        """Whether they are read from files."""
        return bool(self.raw) and isinstance(self.raw[0], Path)

    def notes(self) -> tuple[str, ...]:
        """Count and name the pictures that could not be read so far."""
        found = self.skipped.found() if self.skipped else []
        return (list_skipped(found, len(self.raw), "pictures"),) if found else ()

    def read(self, places: Sequence[int]) -> tuple[Float[Tensor, "b c h w"], Bool[Tensor, " b"]]:
        """Give some pictures, and which of them could be read; the others are zeros."""
        if not self.on_disk:
            return self._prepared[torch.tensor(places)], torch.ones(len(places), dtype=torch.bool)
        found = [self._one(place) for place in places]
        like = next((each for each in found if each is not None), None)
        like = self._empty if like is None else like
        images = torch.stack([torch.zeros_like(like) if each is None else each for each in found])
        return images, torch.tensor([each is not None for each in found])

    @cached_property
    def _prepare(self) -> Any:
        if self.spec.preprocess is None:
            raise ConfigError(f"'{self.spec.name}' says nothing of how pictures are prepared for it")
        return load(self.spec, self.spec.preprocess)(self.spec.config, False)

    @cached_property
    def _prepared(self) -> Float[Tensor, "n c h w"]:
        return self._prepare(list(self.raw))

    @cached_property
    def _empty(self) -> Float[Tensor, "c h w"]:
        """Stand for a picture where none of a batch can be read."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant pictures
            return torch.zeros_like(self._prepare([np.zeros((8, 8, 3), np.uint8)])[0])

    def _one(self, place: int) -> Tensor | None:
        path = self.raw[place]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of constant pictures: each would be told in every epoch
                return self._prepare(path)
        except (InputError, OSError) as error:
            if self.skipped:
                self.skipped.add(Skipped(str(path), str(error)))
            return None
