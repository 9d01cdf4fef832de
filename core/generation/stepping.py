"""How a model is asked, token by token, what follows: with a state that keeps what was read, or by reading it again."""

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


class Reading(ABC):
    """Read what is written in each row of a batch, and give the scores of what follows.

    Args:
        model: a `Generator`.
        context: the encoder's vectors, if there is one.
    """

    def __init__(self, model: Any, context: Tokens | None) -> None:
        self.model = model
        self.context = context
        self.parts = list(model.modules())

    @abstractmethod
    def begin(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        """Read the first tokens."""

    @abstractmethod
    def go_on(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        """Read one more token of each row."""

    @abstractmethod
    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        """Take these rows in this order.

        Args:
            index: rows; one may be taken often or never.
            of_one_source: whether each row stays one of the same source, whose vectors then can stay.
        """


class Cached(Reading):
    """Keep keys and values of what was read.

    Args:
        model: a `Generator`.
        context: the encoder's vectors, if there is one.
        state: an empty state of the model's decoder.
    """

    def __init__(self, model: Any, context: Tokens | None, state: DecoderState) -> None:
        super().__init__(model, context)
        self.state = state

    def begin(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        """See `Reading.begin`."""
        with evaluating(self.parts):
            scores = self.model.follow(prompt.ids, self.state, self.context, prompt.lengths)
        self.context = None
        return scores

    def go_on(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        """See `Reading.go_on`."""
        with evaluating(self.parts):
            return self.model.follow(ids[:, None], self.state)

    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        """See `Reading.reorder`."""
        self.state.reorder(index, of_one_source=of_one_source)


class Again(Reading):
    """Read everything again for each token: for decoders that keep no state."""

    ids: Tensor
    lengths: Tensor | None

    def begin(self, prompt: Prompt) -> Float[Tensor, "b vocab"]:
        """See `Reading.begin`."""
        self.ids, self.lengths = prompt
        return self._read()

    def go_on(self, ids: Int[Tensor, " b"]) -> Float[Tensor, "b vocab"]:
        """See `Reading.go_on`."""
        self.ids = torch.cat([self.ids, ids[:, None]], dim=1)
        if self.lengths is not None:  # behind a row's last token, not behind its padding
            self.ids.scatter_(1, self.lengths[:, None], ids[:, None])
            self.lengths = self.lengths + 1
            self.ids = self.ids[:, : int(self.lengths.max())]
        return self._read()

    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        """See `Reading.reorder`."""
        self.ids = self.ids[index]
        self.lengths = None if self.lengths is None else self.lengths[index]
        if self.context is not None and not of_one_source:
            self.context = rows(self.context, index)

    def _read(self) -> Float[Tensor, "b vocab"]:
        with evaluating(self.parts):
            return self.model.follow(self.ids, None, self.context, self.lengths)


def reading_of(model: Any, context: Tokens | None, prompt: Prompt, longest: int) -> Reading:
    """Read with a state where the model's decoder keeps one.

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
        return Again(model, context)
    return Cached(model, context, state)


@contextmanager
def evaluating(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Let a model answer without dropout and gradients, and leave it as it was.

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
