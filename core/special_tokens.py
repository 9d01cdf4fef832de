"""`Symbols`: which tokens mean something to whatever writes."""

from typing import NamedTuple


class Symbols(NamedTuple):
    """Name the tokens that mean something to the search."""

    pad: int = 0
    bos: int = 1
    eos: int = 2


SYMBOLS = Symbols()
