"""Rows of pairs of texts as BERT reads them: both in one row, behind each its end, arXiv:1810.04805 sec. 3."""

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from jaxtyping import Int
from torch import Tensor

from zoo import InputError
from zoo.plugins.shared.text.tokenizer import BARE, Frame, Tokenizer, pad_rows, text_at


def pair_rows(
    tokenizer: Tokenizer, texts: Sequence[str | Sequence[str]], frame: Frame, max_len: int | None
) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"], Int[Tensor, "b n"]]:
    """Give ids, lengths, and segments: 0 for the first text and its symbols, 1 for the second and its end.

    Args:
        tokenizer: of the model.
        texts: each a text or a pair.
        frame: the symbols around one text.
        max_len: the most tokens of a row, symbols counted.

    Raises:
        InputError: If a row is longer, or there is no text.
    """
    parts: list[tuple[str, ...]] = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
    ids = iter(tokenizer.rows([*chain.from_iterable(parts)], BARE, empty=Frame((), frame.behind[:1])))
    rows, segments = [], []
    for number, part in enumerate(parts):
        first, *second = _framed(ids, part, frame)
        row = [*first, *chain.from_iterable(second)]
        if max_len is not None and len(row) > max_len:
            raise InputError(
                f"{text_at(parts, number)} of {len(row)} tokens is longer than the {max_len} that fit: make it shorter"
            )
        rows.append(row)
        segments.append([0] * len(first) + [1] * (len(row) - len(first)))
    return *pad_rows(rows, tokenizer.pad), torch.as_tensor(pad_rows(segments, 0)[0])


def _framed(ids: Iterator[list[int]], part: Sequence[str], frame: Frame) -> Iterator[list[int]]:
    for place, _ in enumerate(part):
        yield [*(() if place else frame.before), *next(ids), *frame.behind]
