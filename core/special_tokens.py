"""`Symbols`: the ids of the special tokens: padding, begin and end."""

from typing import NamedTuple


class Symbols(NamedTuple):
    """Name the tokens that mean something to the search.

    A vocabulary of CTC alone may have no begin and no end: `Symbols(blank, -1, -1)`.
    """

    pad: int = 0
    bos: int = 1
    eos: int = 2


SYMBOLS = Symbols()
