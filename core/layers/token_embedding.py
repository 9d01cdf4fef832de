"""`TokenEmbed`: token embedding with positions, from ids to `Tokens`."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from zoo.core.errors import InputError
from zoo.core.ops.tensor_check import check_tensor
from zoo.core.patterns.padding import Keys, Lengths, Valid
from zoo.core.positions.absolute import Learned, position_encoding
from zoo.core.positions.floater import Walk
from zoo.core.tokens import Tokens

ValidMask = Shaped[Tensor, " b"] | Shaped[Tensor, "b n"] | None
"""Which tokens are there: how many of each row, whole numbers; a boolean mask; or None for all."""

_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class TokenEmbed(nn.Module):
    """Look up a vector for each token and add its position: arXiv:1706.03762 sec. 3.4 and 3.5.

    Args:
        vocab_size: tokens there are.
        dim: channels.
        position: `sinusoidal`, `learned`, `floater` or `recurrent`; `none`, or a name of what acts inside attention,
            adds nothing.
        max_len: positions that are learned.
        scaled: whether the vectors are multiplied by the root of `dim`.
        dropout: probability in [0, 1), of the sum.
    """

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        *,
        position: str = "sinusoidal",
        max_len: int = 512,
        scaled: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim)
        self.position: Any = position_encoding(position, dim, (max_len,))
        self.scale = math.sqrt(dim) if scaled else 1.0
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, ids: Shaped[Tensor, "b n"], valid: ValidMask = None, position: Int[Tensor, "#b n"] | None = None
    ) -> Tokens:
        """Give the vectors.

        Args:
            ids: tokens, whole numbers; what is not there may be any of the vocabulary.
            valid: how many tokens each row has, from its front, or which; all if None.
            position: where they stand; counted from the first token that is there if None.

        Raises:
            InputError: If an id is no token of the vocabulary, or `valid` is neither lengths nor a mask.
        """
        check_ids(ids, self.embed.num_embeddings)
        keys = as_keys(valid)
        if position is None and isinstance(keys, Valid):
            position = (keys.mask.long().cumsum(1) - 1).to(ids.device)
        return Tokens(self.dropout(self.vectors(ids, position)), None, keys, position)

    def follow(self, ids: Int[Tensor, "b n"], start: int | Int[Tensor, " b"], valid: ValidMask = None) -> Tokens:
        """Give the vectors of tokens that follow on what a state keeps, which counts their positions itself.

        The ids are not checked: they are a model's own, and a check would wait for the device.

        Args:
            ids: tokens.
            start: position of the first token that is there, for all rows or for each.
            valid: as in `forward`.
        """
        keys = as_keys(valid)
        if isinstance(keys, Valid):
            position = keys.mask.long().cumsum(1) - 1 + (start if isinstance(start, int) else start[:, None])
            return Tokens(self.dropout(self.vectors(ids, position)), None, keys, position)
        return Tokens(self.dropout(self.vectors(ids, start)), None, keys)

    def vectors(
        self, ids: Int[Tensor, "b n"], position: Int[Tensor, "#b n"] | Int[Tensor, " b"] | int | None
    ) -> Float[Tensor, "b n d"]:
        """Add up what is known of each token.

        Args:
            ids: tokens.
            position: of each token, or of the first of each row, or of all rows; 0 for the first if None.
        """
        x = self.embed(ids)
        if self.scale != 1:
            x = x * self.scale
        if self.position is None:
            return x
        return x + self._places(ids.shape[1], position).to(x.dtype)

    def _places(self, n: int, position: Tensor | int | None) -> Float[Tensor, "... d"]:
        """Give the vectors of n positions."""
        assert self.position is not None
        if position is None:
            places: Tensor = self.position((n,))
            return places
        if isinstance(position, int):
            if isinstance(self.position, Learned | Walk):  # the host knows the length: no wait for the device
                return self.position((position + n,))[position:]
            position = torch.arange(position, position + n, device=self.embed.weight.device)
        elif position.ndim == 1:
            position = position[:, None] + torch.arange(n, device=position.device)
        at: Tensor = self.position.at(position)
        return at


def as_keys(valid: ValidMask) -> Keys | None:
    """Turn lengths or a mask into keys.

    Raises:
        InputError: If it is neither.
    """
    if valid is None:
        return None
    if valid.dtype == torch.bool and valid.ndim == 2:
        return Valid(valid)
    if valid.dtype in _WHOLE and valid.ndim == 1:
        return Lengths(valid)
    raise InputError(
        f"padding mask of shape {tuple(valid.shape)} of {valid.dtype}: give lengths (b,), whole numbers, or a "
        "boolean mask (b, n); mask.bool() makes one of 0 and 1"
    )


def check_ids(ids: Shaped[Tensor, "b n"], vocab_size: int) -> None:
    """Refuse ids that are no tokens.

    Raises:
        InputError: If there is one, the text names the first; or if they are no tensor of whole numbers.
    """
    check_tensor(ids, "ids")
    if ids.dtype not in _WHOLE:
        raise InputError(f"ids of {ids.dtype}: tokens are whole numbers")
    if ids.device.type == "meta" or torch.compiler.is_compiling() or not ids.numel():
        return
    bad = (ids < 0) | (ids >= vocab_size)
    if bool(bad.any()):
        row, column = bad.nonzero()[0].tolist()
        raise InputError(
            f"token {int(ids[row, column])} at place {column} of row {row}: the vocabulary has {vocab_size}, "
            f"0 … {vocab_size - 1}"
        )
