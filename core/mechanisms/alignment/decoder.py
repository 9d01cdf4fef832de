"""`RecurrentDecoder`: an LSTM or GRU that decodes behind an encoder, in place of `zoo.core.Decoder`."""

from math import prod

from zoo.core.cache.decoder import LayerState
from zoo.core.errors import InputError
from zoo.core.layers.pooling import check_pool, last, pooled
from zoo.core.mechanisms.alignment.recurrent_layers import RecurrentLayers
from zoo.core.ops.linear import Linear
from zoo.core.tokens import Tokens, tokens_of


class RecurrentDecoder(RecurrentLayers):
    """Decode with an LSTM or GRU that knows of the source only what its first state holds: arXiv:1409.3215.

    The first state is tanh(W x) of the encoder's last vector, similar to arXiv:1409.0473 app. A.2.2; what is decoded
    is the last layer's output.

    Args:
        cell: `lstm` or `gru`.
        dim: channels of tokens, of the encoder's vectors and of the state.
        depth: layers.
        pool: what of the encoder the first state is made of: `last`, or `mean` (arXiv:1502.03044 sec. 3.1.2) of what
            has no order.
        dropout: probability in [0, 1), of the answer, and between layers.
    """

    crosses = True

    def __init__(self, cell: str, dim: int, depth: int = 1, *, pool: str = "last", dropout: float = 0.0) -> None:
        super().__init__(cell, dim, depth, dropout=dropout)
        if pool != "last":
            check_pool(pool)
        self.pool = pool
        self.first = Linear(dim, prod(self.cell.shape))

    def enter(self, layer: LayerState, tokens: Tokens, context: Tokens | None) -> None:
        """Fill an empty state from the encoder's vectors."""
        if context is not None:
            self.begin(layer, tokens_of(context).without_padding())
        elif not layer.own.tensors:
            raise InputError("this decoder reads the vectors of an encoder: give context=")

    def begin(self, layer: LayerState, context: Tokens) -> None:
        """Fill an empty state with what is known of the source."""
        found = last(context)[:, 0] if self.pool == "last" else pooled(context, self.pool)
        first = self.first(found).tanh()
        layer.own.tensors = {"hidden": first.unflatten(1, self.cell.shape)}
