"""`RecurrentLayers`: an LSTM or GRU as the decoder of a `Generator` without an encoder, and base of those behind one.

Axes: b rows, n tokens, m of them at once, k vectors of the source, d channels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.fixed import FixedState
from zoo.core.errors import ConfigError
from zoo.core.mechanisms.alignment.alignment import Memory
from zoo.core.mechanisms.alignment.cell import RecurrentCell
from zoo.core.patterns.front import front_order, front_places, vectors_at
from zoo.core.tokens import Tokens, tokens_of

Carried = dict[str, Tensor]
"""What goes from step to step: tensors whose first axis is the batch."""


class CellState(FixedState):
    """What a recurrent decoder carries from step to step; of constant size."""


class Advance(NamedTuple):
    """What steps of a decoder give.

    Args:
        x: a vector for each step.
        carried: what the next step reads.
        weights: of the source, for each step; None of a decoder without attention.
    """

    x: Float[Tensor, "b m d"]
    carried: Carried
    weights: Float[Tensor, "b m k"] | None = None


class RecurrentLayers(nn.Module):
    """Decode with layers of LSTM or GRU alone, from a state of zeros; what is decoded is the last layer's output.

    Args:
        cell: `lstm` or `gru`.
        dim: channels of tokens and of the state.
        depth: layers.
        dropout: probability in [0, 1), of the answer, and between layers.
    """

    crosses = False
    """Whether it reads the vectors of an encoder."""
    inputs = 1
    """Vectors of `dim` channels that the cell reads at each step."""
    sequential = False
    """Whether a step reads what the step before gave, besides the cell's state, so that many cannot be computed at
    once."""

    def __init__(self, cell: str, dim: int, depth: int = 1, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.cell = RecurrentCell(cell, self.inputs * dim, dim, depth, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None) -> Tokens:
        """Decode; each token's vector knows the tokens up to it, and the source if there is one.

        Args:
            tokens: what was decoded; with a state, what follows on what it keeps.
            context: the encoder's vectors; with a state needed the first time only.
            state: what earlier calls have read; made by `state`, and changed.

        Raises:
            InputError: If the encoder's vectors are missing.
            ConfigError: If there are some, and the decoder reads none.
        """
        valid = tokens_of(tokens).valid()
        if state is not None or valid is None:
            return tokens.with_x(self.dropout(self.run(tokens, context, state).x))
        # padding comes last, where nothing reads its state
        front = vectors_at(tokens.without_padding().x, front_order(valid))
        x = self.run(Tokens(front), context, None).x
        return tokens.with_x(self.dropout(vectors_at(x, front_places(valid)))).without_padding()

    def states(
        self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None
    ) -> Iterator[Tokens]:
        """Give what `forward` gives: the layers are one module of PyTorch's, which shows its last layer only."""
        yield self(tokens, context, state)

    def state(self, batch: int, *, capacity: int = 16, spare: int = 0) -> DecoderState:
        """Make an empty state; its size does not grow.

        Args:
            batch: rows.
            capacity: not needed.
            spare: tokens that may be cropped again: none can.
        """
        return DecoderState([LayerState(CellState(batch))])

    def run(self, tokens: Tokens, context: Tokens | None, state: DecoderState | None) -> Advance:
        """Do what `forward` does, and give the weights too; padding changes no state."""
        tokens = tokens_of(tokens).without_padding()
        b, n = tokens.x.shape[:2]
        layer = (self.state(b) if state is None else state).layers[0]
        layer.own.check(tokens.x)
        self.enter(layer, tokens, context)
        valid, memory = tokens.valid(), self.memory(layer)
        steps = layer.own.placed(n, tokens.position, tokens.x.device)
        width = 1 if self.sequential or valid is not None else max(n, 1)
        found = []
        for at in range(0, max(n, 1), width):
            part, before = slice(at, at + width), layer.own.tensors
            found.append(self.advance(tokens.x[:, part], before, memory, steps[:, part]))
            after = found[-1].carried
            layer.own.tensors = after if valid is None else chosen(valid[:, at], after, before)
        layer.own.count(n, valid, tokens.position, tokens.x.device)
        weights = [each.weights for each in found if each.weights is not None]
        x = torch.cat([each.x for each in found], dim=1)
        return Advance(x, layer.own.tensors, torch.cat(weights, dim=1) if weights else None)

    def enter(self, layer: LayerState, tokens: Tokens, context: Tokens | None) -> None:
        """Fill an empty state: with zeros, since nothing was read."""
        if context is not None:
            raise ConfigError(f"{type(self).__name__} decodes alone, and cannot read the vectors of an encoder")
        if not layer.own.tensors:
            layer.own.tensors = {"hidden": tokens.x.new_zeros(len(tokens.x), *self.cell.shape)}

    def memory(self, layer: LayerState) -> Memory | None:
        """Give what is read of the source at each step; None if nothing is."""
        return None

    def advance(
        self,
        x: Float[Tensor, "b m d"],
        carried: Carried,
        memory: Memory | None,
        steps: Int[Tensor, "#b m"],
    ) -> Advance:
        """Read tokens: one, or, where decoding is not `sequential`, many.

        Args:
            x: tokens.
            carried: what the steps before gave.
            memory: of the source.
            steps: place of each token in the target.
        """
        y, hidden = self.cell(x, carried["hidden"])
        return Advance(y, {"hidden": hidden})


def chosen(which: Bool[Tensor, " b"], left: Carried, right: Carried) -> Carried:
    """Take rows of the left where they are wanted, else of the right."""
    return {name: torch.where(which.view(-1, *[1] * (x.ndim - 1)), x, right[name]) for name, x in left.items()}
