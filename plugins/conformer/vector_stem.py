"""`VectorStem`: vectors as they are given, for Conformers behind another model's stem.

Axes: b rows, n vectors, d channels.
"""

from typing import NoReturn

from jaxtyping import Int
from torch import Tensor, nn

from zoo.core import ConfigError, InputError, Lengths, Tokens, check_tensor
from zoo.plugins.shared.audio.stems.frame_stem import check_lengths, check_values


class VectorStem(nn.Module):
    """Give vectors (b, n, d) as they are; what lies behind the length of a row is not read.

    Args:
        dim: channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor, lengths: Tensor | None = None) -> Tokens:
        """Give the vectors as tokens.

        Args:
            vectors: (b, n, d), floating.
            lengths: vectors that each row has, (b); all if None.

        Raises:
            InputError: If shape, dtype, lengths or values do not fit.
        """
        check_tensor(vectors, "vectors")
        shape = tuple(vectors.shape)
        if vectors.ndim != 3 or shape[2] != self.dim or not vectors.is_floating_point():
            raise InputError(
                f"vectors of shape {shape} and {vectors.dtype}: this model, made with stem='vectors', reads "
                f"(batch, length, {self.dim})"
            )
        if lengths is not None:
            check_lengths(lengths, shape, 1, "vectors")
        check_values(vectors, lengths)
        return Tokens(vectors, None, None if lengths is None else Lengths(lengths))

    def count(self, vectors: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        """Count the vectors of rows of so many: the same."""
        return vectors

    def stream(self) -> NoReturn:
        """Refuse to stream.

        Raises:
            ConfigError: In any case.
        """
        raise ConfigError("stem='vectors' reads no samples: models with stem='mel' answer while a sound comes")
