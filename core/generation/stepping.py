"""Decoding steps: the logits of the next token, from a key-value cache or by computing the whole prefix again."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.decoder import DecoderState
from zoo.core.errors import ConfigError
from zoo.core.generation.prompt import Prompt
from zoo.core.tokens import Tokens, rows

AHEAD = 64
"""New tokens that a state makes room for at first."""


class DecodingStep(ABC):
    """One decoding step after the other: takes the tokens chosen last, gives the logits of the next.

    Args:
        model: a `Generator`.
        context: the encoder's vectors, if there is one.
    """

    def __init__(self, model: Any, context: Tokens | None) -> None:
        self.model = model
        self.context = context
        self.parts = list(model.modules())

    @abstractmethod
    def prefill(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        """Read the prompt; give the logits of the first new token."""

    @abstractmethod
    def step(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        """Read one more token of each row; give the logits of the next."""

    @abstractmethod
    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        """Select rows of the batch, in this order.

        Args:
            index: rows; one may be taken often or never.
            of_one_source: whether each row stays one of the same source, whose vectors then can stay.
        """


class Cached(DecodingStep):
    """Decode with a cache of keys and values.

    Args:
        model: a `Generator`.
        context: the encoder's vectors, if there is one.
        state: an empty state of the model's decoder.
    """

    def __init__(self, model: Any, context: Tokens | None, state: DecoderState) -> None:
        super().__init__(model, context)
        self.state = state

    def prefill(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        with evaluating(self.parts):
            scores = self.model.follow(prompt.ids, self.state, self.context, prompt.lengths)
        self.context = None
        return scores

    def step(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        with evaluating(self.parts):
            return self.model.follow(ids[:, None], self.state)

    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        self.state.reorder(index, of_one_source=of_one_source)


class Recomputed(DecodingStep):
    """Decode without a cache, for decoders that have none: each step computes the whole prefix again."""

    ids: Tensor
    lengths: Tensor | None

    def prefill(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        self.ids, self.lengths = prompt
        return self._read()

    def step(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        self.ids = torch.cat([self.ids, ids[:, None]], dim=1)
        if self.lengths is not None:  # behind a row's last token, not behind its padding
            self.ids.scatter_(1, self.lengths[:, None], ids[:, None])
            self.lengths = self.lengths + 1
            self.ids = self.ids[:, : int(self.lengths.max())]
        return self._read()

    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        self.ids = self.ids[index]
        self.lengths = None if self.lengths is None else self.lengths[index]
        if self.context is not None and not of_one_source:
            self.context = rows(self.context, index)

    def _read(self) -> Float[Tensor, "b vocab"]:
        with evaluating(self.parts):
            return self.model.follow(self.ids, None, self.context, self.lengths)


def decoding_step(model: Any, context: Tokens | None, prompt: Prompt, longest: int) -> DecodingStep:
    """Decode with a cache where the model's decoder has one.

    Args:
        model: a `Generator`.
        context: the encoder's vectors, if there is one.
        prompt: what will be read first.
        longest: the most tokens that will follow.
    """
    b, n = prompt.ids.shape
    try:
        state = model.decoder.state(b, capacity=n + min(longest, AHEAD))
    except ConfigError:
        return Recomputed(model, context)
    return Cached(model, context, state)


@contextmanager
def evaluating(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Run modules in evaluation mode and without gradients, and leave them as they were.

    Args:
        parts: all its modules; to find them again at each step would take as long as a block's step.
    """
    learning = [part for part in parts if part.training]
    for part in learning:
        part.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for part in learning:
            part.training = True
