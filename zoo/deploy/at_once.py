"""Programs of a non-autoregressive model: what it reads of a source and how many places it writes, then all of these.

Axes: b rows, n places, m vectors of the source, d channels.
"""

from typing import Any

from torch import Tensor, nn

from zoo.core import NonAutoregressive, Tokens, Valid
from zoo.deploy.decoding import mask_of


class Places(nn.Module):
    """Read a source, and say how many places the answer has.

    Args:
        model: writes all places at once.
    """

    def __init__(self, model: NonAutoregressive) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, *source: Tensor) -> tuple[Tensor, ...]:
        """Give the likeliest number of places (b), which vectors are there (b, m), and those of stem and encoder."""
        tokens = self.model.stem(*source)
        encoded = self.model.context(tokens).without_padding()
        places, most = self.model.length.propose(encoded, 1)[:, 0], self.model.max_len
        places = places if most is None else places.clamp(max=most)
        return places, mask_of(encoded), tokens.without_padding().x, encoded.x


class AtOnce(nn.Module):
    """Scores of all places of an answer.

    Args:
        model: writes all places at once.
    """

    def __init__(self, model: NonAutoregressive) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, slots: Tensor, mask: Tensor, vectors: Tensor, encoded: Tensor) -> Tensor:
        """Give the scores (b, n, vocabulary).

        Args:
            slots: which places the answer of each row has (b, n), from the first on.
            mask: which vectors of the source are there (b, m).
            vectors: of the stem (b, m, d).
            encoded: of the encoder (b, m, d).
        """
        there = Valid(mask)
        copies = self.model.copies(Tokens(vectors, None, there), slots.sum(1), slots.shape[1])
        scores: Tensor = self.model.head(self.model.decoder(copies, Tokens(encoded, None, there)))
        return scores
