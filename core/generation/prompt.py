"""`Prompt`, the tokens before the first new one of each row; and how many new tokens each row may have."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.token_embedding import ValidMask, as_keys
from zoo.core.ops.tensor_check import check_tensor
from zoo.core.patterns.front import front_order
from zoo.core.patterns.padding import Segments
from zoo.core.special_tokens import Symbols


class Prompt(NamedTuple):
    """A batch of prompts, each from the front of its row.

    Args:
        ids: tokens; padding behind them.
        lengths: how many each row has; None where all are there.
    """

    ids: Int[Tensor, "b n"]
    lengths: Int[Tensor, " b"] | None = None

    def counts(self) -> list[int]:
        """Give the length of each row."""
        b, n = self.ids.shape
        return [n] * b if self.lengths is None else self.lengths.tolist()


def prompt_of(ids: Tensor, valid: ValidMask, symbols: Symbols) -> Prompt:
    """Move the valid tokens of a prompt to the front of their rows, so that all rows start at position 0.

    Raises:
        InputError: If there is no row, or one of padding only.
    """
    check_tensor(ids, "the prompt")
    if ids.ndim != 2 or ids.is_floating_point():
        raise InputError(f"a prompt of shape {tuple(ids.shape)} of {ids.dtype}: ids are (batch, length) whole numbers")
    b, n = ids.shape
    if b == 0:
        raise InputError("a prompt of 0 rows: at least one is needed")
    keys = as_keys(valid)
    if isinstance(keys, Segments):
        raise InputError("several documents in a row of the prompt: each row is continued once, give each its own")
    mask = torch.ones_like(ids, dtype=torch.bool) if keys is None else keys.valid(b, n, ids.device)
    means = mask if symbols.pad in (symbols.bos, symbols.eos) else mask & (ids != symbols.pad)
    empty = ~means.any(1)
    if bool(empty.any()):
        raise InputError(f"row {int(empty.nonzero()[0, 0])} of the prompt is padding only: give it at least one token")
    lengths = mask.sum(1)
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest == n:
        return Prompt(ids)
    front = front_order(mask)[:, :longest]
    ids = ids.gather(1, front)
    return Prompt(ids) if shortest == longest else Prompt(ids, lengths)


def new_token_limits(prompt: Prompt, max_len: int | None, room: int | None) -> list[int]:
    """Give the most new tokens of each row.

    Args:
        prompt: what stands before them.
        max_len: new tokens at most; None for as many as there is room for.
        room: tokens that the model can hold, with the prompt; None for any number.

    Raises:
        ConfigError: If `max_len` is no positive number, or None where nothing else ends a row.
        InputError: If a prompt leaves no room.
    """
    counts = prompt.counts()
    if max_len is not None and max_len < 1:
        raise ConfigError(f"max_len={max_len}: at least one token is written")
    if room is None:
        if max_len is None:
            raise ConfigError("max_len=None of a model that can write any number of tokens: say how many at most")
        return [max_len] * len(counts)
    longest = max(counts)
    if longest >= room:
        raise InputError(
            f"a prompt of {longest} tokens in row {counts.index(longest)}: the model holds {room} with what "
            "it writes, so the prompt has to be shorter"
        )
    return [room - count if max_len is None else min(max_len, room - count) for count in counts]
