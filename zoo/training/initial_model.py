"""`InitialModel`: the model that a training starts from, by name, weights and configuration."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from zoo.core import is_quantized
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.spec import ModelSpec
from zoo.weights import hub
from zoo.weights.token_ids import tokenizer_name


@dataclass(frozen=True)
class InitialModel:
    """Model that a training starts from.

    Args:
        name: as for `zoo.create`.
        weights: as for `zoo.create`; None for none.
        pretrained: whether it starts from the published weights, as for `zoo.create`.
        overrides: of the model's configuration.
    """

    name: str
    weights: Any
    pretrained: bool | None
    overrides: dict[str, Any]

    @property
    def tuned(self) -> bool:
        """Whether its weights are pretrained; of a joined model, those of the decoder."""
        return self.weights is not None or self._named

    @property
    def _named(self) -> bool:
        """Whether the name alone, or `pretrained`, says where weights are."""
        if self.pretrained is None and "hub" in create.info(self.name).weights:
            return True
        return hub.is_pretrained(self.name, self.pretrained)

    @cached_property
    def spec(self) -> ModelSpec:
        """Record of the model, with what its weights tell and the overrides."""
        whole = self.weights is not None or hub.is_pretrained(self.name, self.pretrained)
        told = create.told(self.name, self.pretrained, self.weights, self.overrides) if whole else {}
        spec = create.info(self.name).with_config(**told, **self.overrides)
        return replace(spec, task=self.overrides.get("task", spec.task))

    @property
    def tokenizer(self) -> str:
        """Tokenizer that comes with the weights, a path or `byte`; empty if they bring none."""
        if isinstance(self.weights, str | Path):
            text = str(self.weights)
            where = text if hub.is_repository(text) else f"local-dir:{text}" if Path(text).is_dir() else ""
        else:
            published = self.spec.weights if self._named else {}
            where = published.get(self.name.partition(".")[2]) or next(iter(published.values()), "")
        return tokenizer_name(where, self.spec) if where else ""

    def make(self, fitting: dict[str, Any]) -> nn.Module:
        """Make the model, a CNN with its images channels-last.

        Args:
            fitting: configuration that the data decide, such as the number of classes.

        Raises:
            ConfigError: If the weights are int8, or there are to be fewer classes than the data have.
        """
        wanted, given = fitting.get("num_classes"), self.overrides.get("num_classes")
        if isinstance(wanted, int) and isinstance(given, int) and given < wanted:
            raise ConfigError(f"num_classes={given}: the data need {wanted}; leave it out, or give at least as many")
        known = create.info(self.name).config
        changed = {key: value for key, value in fitting.items() if known.get(key) != value} | self.overrides
        model = create.create(self.name, self.pretrained, weights=self.weights, **changed)
        if is_quantized(model):
            raise ConfigError(
                f"{self.weights or self.name!r} has int8 weights, which no gradient moves: train the model that "
                "it was made from, and quantise what comes out"
            )
        return channels_last(model)


def channels_last(model: nn.Module) -> nn.Module:
    """Let a CNN hold its images channels-last, twice as fast on CPUs; other models stay as they are."""
    convolves = any(isinstance(module, nn.Conv2d) for module in model.modules())
    return model.to(memory_format=torch.channels_last) if convolves else model
