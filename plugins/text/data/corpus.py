"""Base class of text corpora: the saved tokenizer, length limits and special tokens."""

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Int
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.core import SYMBOLS, Symbols
from zoo.data import BatchedCorpus, DatasetInfo
from zoo.plugins.shared.text.tokenizer import Tokenizer


class TextCorpus(BatchedCorpus, ABC):
    """Serve texts, as rows of ids.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts; it is saved beside the model.
        lengths: of the examples of each part, in tokens.
    """

    tokenizer: Tokenizer

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer, lengths: Mapping[str, Tensor]
    ) -> None:
        super().__init__(about, spec, lengths)
        self.tokenizer = tokenizer


def check_lengths(
    lengths: Int[np.ndarray, " rows"], limit: int | None, where: Callable[[int], tuple[str, str]]
) -> None:
    """Refuse a row that is longer than the model reads.

    Args:
        lengths: of rows, in tokens.
        limit: of the model; None for none.
        where: gives the place and the text of a row.

    Raises:
        DataError: If there is one; the text names where it comes from.
    """
    if limit is None or not (longer := np.flatnonzero(lengths > limit)).size:
        return
    place, text = where(int(longer[0]))
    length, start = int(lengths[longer[0]]), text if len(text) <= 40 else f"{text[:40]}…"
    raise DataError(
        f"{place}: {length} tokens ({start!r}) are more than the model's max_len={limit}: "
        f"make it with max_len={length}, or shorten the text"
    )


def symbols_of(spec: ModelSpec, tokenizer: Tokenizer) -> dict[str, Any]:
    """Give the keyword that tells a model which tokens are padding, begin and end, unless they are the usual ones."""
    symbols = Symbols(tokenizer.pad, tokenizer.bos, tokenizer.eos)
    return {"symbols": list(symbols)} if symbols != SYMBOLS or "symbols" in spec.config else {}
