"""`TokenEmbed`: token embedding with positions, from ids to `Tokens`."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from zoo.core.errors import InputError
from zoo.core.ops.tensor_check import check_tensor, values_known
from zoo.core.patterns.padding import Keys, Lengths, Segments, Valid
from zoo.core.positions.absolute import Learned, position_encoding
from zoo.core.positions.floater import Walk
from zoo.core.tokens import Tokens

ValidMask = Shaped[Tensor, " b"] | Shaped[Tensor, "b n"] | None
"""Which tokens are there: how many of each row, whole numbers (b,); a boolean mask (b, n); None for all; or of several
documents packed into a row, which each token belongs to, whole numbers (b, n): 1, 2, … and 0 for padding."""

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
            valid: how many tokens each row has, from its front, or which, or of which document; all if None.
            position: where they stand; counted from the first token that is there, of each document, if None.

        Raises:
            InputError: If an id is no token of the vocabulary, or `valid` is neither lengths nor a mask.
        """
        check_ids(ids, self.embed.num_embeddings)
        keys = as_keys(valid)
        if position is None and isinstance(keys, Valid):
            position = (keys.mask.long().cumsum(1) - 1).to(ids.device)
        elif position is None and isinstance(keys, Segments):
            position = places_within(keys.ids).to(ids.device)
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
    """Turn lengths, a mask or the numbers of documents into keys.

    A mask of 0 and 1 is one document in each row.

    Raises:
        InputError: If it is none of these.
    """
    if valid is None:
        return None
    if valid.dtype == torch.bool and valid.ndim == 2:
        return Valid(valid)
    if valid.dtype in _WHOLE and valid.ndim == 1:
        return Lengths(valid)
    if valid.dtype in _WHOLE and valid.ndim == 2:
        return _documents(valid)
    raise InputError(
        f"padding mask of shape {tuple(valid.shape)} of {valid.dtype}: give lengths (b,), whole numbers, a boolean "
        "mask (b, n), or the number of each token's document (b, n), 0 for padding"
    )


def _documents(number: Int[Tensor, "b n"]) -> Keys | None:
    """Give the simplest keys that say the same."""
    if not values_known(number) or not number.numel():
        return Segments(number.long() - 1)
    lowest, highest = (int(one) for one in number.aminmax())
    if highest > 1:
        return Segments(number.long() - 1)
    return None if lowest == 1 else Valid(number > 0)


def places_within(ids: Int[Tensor, "b n"]) -> Int[Tensor, "b n"]:
    """Count places from the first of each run of equal numbers: positions of packed sets."""
    place = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    begins = torch.ones_like(ids, dtype=torch.bool)
    begins[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return place - place.where(begins, 0).cummax(1).values


def check_ids(ids: Shaped[Tensor, "b n"], vocab_size: int) -> None:
    """Refuse ids that are no tokens.

    Raises:
        InputError: If there is one, the text names the first; or if they are no tensor of whole numbers.
    """
    check_tensor(ids, "ids")
    if ids.dtype not in _WHOLE:
        raise InputError(f"ids of {ids.dtype}: tokens are whole numbers")
    if not values_known(ids) or not ids.numel():
        return
    bad = (ids < 0) | (ids >= vocab_size)
    if bool(bad.any()):
        row, column = bad.nonzero()[0].tolist()
        raise InputError(
            f"token {int(ids[row, column])} at place {column} of row {row}: the vocabulary has {vocab_size}, "
            f"0 … {vocab_size - 1}"
        )
