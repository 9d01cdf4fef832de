"""Recurrent decoders with attention: of the present state (arXiv:1508.04025), or the one before (arXiv:1409.0473).

Axes: b rows, n tokens, m of them at once, k vectors of the source, d channels.
"""

from copy import deepcopy

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.static import Static
from zoo.core.mechanisms.alignment.alignment import Alignment, Memory
from zoo.core.mechanisms.alignment.cell import output_of
from zoo.core.mechanisms.alignment.copying import AlignedTokens, SourceTokens
from zoo.core.mechanisms.alignment.decoder import RecurrentDecoder
from zoo.core.mechanisms.alignment.recurrent_layers import Advance, Carried, CellState
from zoo.core.ops.linear import Linear
from zoo.core.tokens import Tokens


class ContextGate(nn.Module):
    """How much of what is read counts at a step: β = sigmoid(f(h_{t-1})), arXiv:1502.03044 sec. 4.2.1.

    It is a number of the step, and not of the weights, which still sum to 1.

    Args:
        dim: channels of the states.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, 1)

    def forward(self, before: Float[Tensor, "b m d"]) -> Float[Tensor, "b m 1"]:
        """Give the share, in (0, 1).

        Args:
            before: state before each step.
        """
        return self.linear(before).sigmoid()


class AttentiveDecoder(RecurrentDecoder):
    """Base of decoders that read a source at each step; the answer is h̃ = tanh(W [c; h]), arXiv:1508.04025 eq. 5.

    Args:
        cell: `lstm` or `gru`.
        dim: channels of tokens, of the encoder's vectors and of the state.
        alignment: weighs the source's vectors.
        depth: layers.
        gate: share of what is read; all if None.
        pool: see `RecurrentDecoder`.
        dropout: probability in [0, 1), of the answer, and between layers.
    """

    num_heads = 1
    """Of the weights."""

    def __init__(
        self,
        cell: str,
        dim: int,
        alignment: Alignment,
        depth: int = 1,
        *,
        gate: ContextGate | None = None,
        pool: str = "last",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(cell, dim, depth, pool=pool, dropout=dropout)
        self.alignment = alignment
        self.gate = gate
        self.combine = Linear(2 * dim, dim, bias=False)

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None
    ) -> AlignedTokens:
        """Decode as `RecurrentDecoder` does; the answer has the weights with it."""
        state = self.state(len(tokens.x)) if state is None else state
        x, _, weights = self.run(tokens, context, state)
        ids = self.crossed(state.layers[0]).tensors.get("ids")
        return AlignedTokens(self.dropout(x), tokens.pattern, tokens.keys, tokens.position, weights, ids)

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: DecoderState | None = None
    ) -> Float[Tensor, "b 1 n k"]:
        """Give the weights of the source for each token, as `forward` uses them; the state stays as it is."""
        found = self.run(tokens, context, deepcopy(state)).weights
        assert found is not None
        return found[:, None]

    def state(self, batch: int, *, capacity: int = 16, spare: int = 0) -> DecoderState:
        return DecoderState([LayerState(CellState(batch), Static(batch))])

    def begin(self, layer: LayerState, context: Tokens) -> None:
        super().begin(layer, context)
        source = self.crossed(layer)
        source.append(self.alignment.score.keys(context.x)[:, :, None], context.x[:, :, None], context.valid())
        if isinstance(context, SourceTokens) and context.ids is not None:
            source.tensors["ids"] = context.ids

    @staticmethod
    def crossed(layer: LayerState) -> Static:
        """Give what is kept of the source."""
        assert layer.cross is not None
        return layer.cross

    def memory(self, layer: LayerState) -> Memory:
        kept = self.crossed(layer).tensors
        return Memory(kept["k"][:, :, 0], kept["v"][:, :, 0], kept.get("valid"))

    def read(
        self,
        query: Float[Tensor, "b m d"],
        before: Float[Tensor, "b m d"],
        memory: Memory | None,
        steps: Int[Tensor, "#b m"],
    ) -> tuple[Float[Tensor, "b m d"], Float[Tensor, "b m k"]]:
        """Give what is read of the source, and its weights.

        Args:
            query: states that ask.
            before: state before each step, for the gate.
            memory: of the source.
            steps: place of each step in the target.
        """
        assert memory is not None
        weights = self.alignment(query, memory, steps)
        found = weights @ memory.values
        return found if self.gate is None else self.gate(before) * found, weights

    def answer(self, found: Float[Tensor, "b m d"], y: Float[Tensor, "b m d"]) -> Float[Tensor, "b m d"]:
        """Join what was read with the states."""
        return self.combine(torch.cat([found, y], dim=-1)).tanh()


class PresentStateDecoder(AttentiveDecoder):
    """Read the source with the state that has read the token, h_t: arXiv:1508.04025 sec. 3.

    The cell does not know what was read, so that all steps of a training are computed at once.
    """

    def advance(
        self, x: Float[Tensor, "b m d"], carried: Carried, memory: Memory | None, steps: Int[Tensor, "#b m"]
    ) -> Advance:
        y, hidden = self.cell(x, carried["hidden"])
        before = torch.cat([output_of(carried["hidden"])[:, None], y[:, :-1]], dim=1)
        found, weights = self.read(y, before, memory, steps)
        return Advance(self.answer(found, y), {"hidden": hidden}, weights)


class InputFeedingDecoder(PresentStateDecoder):
    """Give the cell the answer of the step before, h̃_{t-1}, beside the token: arXiv:1508.04025 sec. 3.3.

    It is zero before the first step.
    """

    inputs = 2
    sequential = True

    def begin(self, layer: LayerState, context: Tokens) -> None:
        super().begin(layer, context)
        layer.own.tensors["fed"] = torch.zeros_like(output_of(layer.own.tensors["hidden"]))

    def advance(
        self, x: Float[Tensor, "b 1 d"], carried: Carried, memory: Memory | None, steps: Int[Tensor, "#b 1"]
    ) -> Advance:
        found = super().advance(torch.cat([x, carried["fed"][:, None]], dim=-1), carried, memory, steps)
        return found._replace(carried=found.carried | {"fed": found.x[:, 0]})


class PreviousStateDecoder(AttentiveDecoder):
    """Read the source with the state before the token, h_{t-1}; the cell gets what was read: arXiv:1409.0473 sec. 3.1.

    The paper's answer is a maxout layer of state, token and what was read; here it is that of `AttentiveDecoder`.
    """

    inputs = 2
    sequential = True

    def advance(
        self, x: Float[Tensor, "b 1 d"], carried: Carried, memory: Memory | None, steps: Int[Tensor, "#b 1"]
    ) -> Advance:
        before = output_of(carried["hidden"])[:, None]
        found, weights = self.read(before, before, memory, steps)
        y, hidden = self.cell(torch.cat([x, found], dim=-1), carried["hidden"])
        return Advance(self.answer(found, y), {"hidden": hidden}, weights)
