"""Steps of a recurrent decoder as a function without a state: what it carries from token to token goes in and out.

Axes: b rows, m vectors of the source, d channels.
"""

from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Generator, Tokens
from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.static import Static
from zoo.core.mechanisms.alignment.recurrent_layers import CellState


class _Carried(CellState):
    """A decoder's state of any number of rows, which counts no tokens: the position is an input."""

    def __init__(self) -> None:
        super().__init__(1)

    def check(self, k: Tensor) -> None:
        """See `State.check`."""

    def count(self, n: int, valid: Tensor | None, position: Tensor | None, device: torch.device) -> Tensor:
        """See `State.count`."""
        return self.placed(n, position, device)


class _Source(Static):
    """What is kept of a source, of any number of rows."""

    def __init__(self) -> None:
        super().__init__(1)

    def check(self, k: Tensor) -> None:
        """See `State.check`."""


class Begin(nn.Module):
    """What a recurrent decoder carries before its first token, and what it keeps of a source.

    Args:
        model: with an encoder, whose decoder is recurrent.
    """

    def __init__(self, model: Generator) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, *source: Tensor) -> tuple[Tensor, ...]:
        """Give what is carried, then what is kept."""
        return tuple(x for part in self.parts(*source) for x in part.values())

    def parts(self, *source: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Give the same by name."""
        context = self.model.encode(*source)
        layer = LayerState(_Carried(), kept := _Source())
        self.model.decoder.enter(layer, context, context)
        return layer.own.tensors, kept.tensors


class Step(nn.Module):
    """Scores of the next token behind one token (b, 1), its position (b, 1), and what the steps before carry.

    Args:
        model: whose decoder is recurrent.
        carried: names of what goes from step to step.
        kept: names of what is kept of the source; none without an encoder.
    """

    def __init__(self, model: Generator, carried: tuple[str, ...], kept: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.model: Any = model
        self.carried, self.kept = carried, kept

    def forward(self, ids: Tensor, position: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Give the scores (b, vocabulary), and what the next step reads."""
        own, source = _Carried(), _Source()
        own.tensors = dict(zip(self.carried, tensors, strict=False))
        source.tensors = dict(zip(self.kept, tensors[len(self.carried) :], strict=True))
        tokens = Tokens(self.model.target.vectors(ids, position), position=position)
        found = self.model.decoder(tokens, None, DecoderState([LayerState(own, source)]))
        return self.model.head(found)[:, 0], *(own.tensors[name] for name in self.carried)

    def empty(self, rows: int) -> list[Tensor]:
        """Give what a decoder without an encoder carries before the first token."""
        return [torch.zeros(rows, *self.model.decoder.cell.shape)]
