"""Parser of patterns: the arguments after the colon in `window:64`, `globals:0,1` or `blocks:64,0+1/1`.

Each function takes the texts between the commas and gives a pattern; `str(pattern)` is the way back. Patterns that hold
tensors have no such text.
"""

import re

from zoo.core.patterns.basic import Causal
from zoo.core.patterns.local import Chunk, Neighbourhood, Window
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.patterns.sparse import Blocks, Fixed, Globals, Strided, big_bird

LARGEST = 2**31 - 1
"""Above any length; products of two still fit the integers of a tensor."""

MOST_BLOCKS = 4096
"""Of a BigBird that is drawn from a text: each row of blocks looks at every block."""


def full() -> Full:
    """Read `full`."""
    return Full()


def causal() -> Causal:
    """Read `causal`."""
    return Causal()


def window(*texts: str) -> Window:
    """Read `window:LEFT[,RIGHT[,DILATION]]`."""
    return Window(*_numbers(texts, 1, 3))


def chunk(*texts: str) -> Chunk:
    """Read `chunk:SIZE[,LEFT_CHUNKS]`."""
    return Chunk(*_numbers(texts, 1, 2))


def neighbourhood(*texts: str) -> Neighbourhood:
    """Read `neighbourhood:HEIGHT,WIDTH,RADIUS[,PREFIX]`."""
    return Neighbourhood(*_numbers(texts, 3, 4))


def globals_(*texts: str) -> Globals:
    """Read `globals:POSITION[,POSITION…]`, or `globals:none`."""
    return Globals(() if texts == ("none",) else tuple(_numbers(texts, 1, None)))


def fixed(*texts: str) -> Fixed:
    """Read `fixed:SIZE[,SUMMARY]`."""
    return Fixed(*_numbers(texts, 1, 2))


def strided(*texts: str) -> Strided:
    """Read `strided:STRIDE`."""
    return Strided(*_numbers(texts, 1, 1))


def blocks(*texts: str) -> Blocks:
    """Read `blocks:SIZE,ROW/ROW/…`, each row the blocks of keys that a block of queries reads, as in `0+1/1/`.

    Without blocks of queries it is `blocks:SIZE,none`.

    Raises:
        ValueError: If there are not two parts, or one of them holds anything but whole numbers.
    """
    if len(texts) != 2:
        raise ValueError(f"it takes a size and rows of blocks, and got {_quoted(texts)}")
    size, rows = texts
    if rows == "none":
        return Blocks(_number(size), ())
    reads = [[_number(block) for block in row.split("+")] if row.strip() else [] for row in rows.split("/")]
    return Blocks(_number(size), tuple(map(tuple, reads)))


def bigbird(*texts: str) -> Pattern:
    """Read `bigbird:SIZE,LENGTH[,WINDOW[,RANDOMS[,SEED]]]`; see `zoo.core.patterns.sparse.big_bird`.

    Raises:
        ValueError: If a number is out of range, or there are more blocks than a text should draw.
    """
    size, length, *rest = _numbers(texts, 2, 5)
    if size < 1 or min([length, *rest]) < 0:
        raise ValueError(f"the size is at least 1 and nothing is negative; got {_quoted(texts)}")
    if length > MOST_BLOCKS * size:
        raise ValueError(f"{length} positions are more than {MOST_BLOCKS} blocks of {size}")
    return big_bird(length, size, **dict(zip(("window", "randoms", "seed"), rest, strict=False)))


def _numbers(texts: tuple[str, ...], least: int, most: int | None) -> list[int]:
    if not least <= len(texts) <= (most or len(texts)):
        wanted = f"{least}" if least == most else f"{least} to {most}" if most else f"at least {least}"
        raise ValueError(f"it takes {wanted} whole number{'' if wanted == '1' else 's'}, and got {_quoted(texts)}")
    return [_number(text) for text in texts]


def _number(text: str) -> int:
    if not re.fullmatch(r"\s*-?[0-9]+\s*", text):
        raise ValueError(f"{text!r} is not a whole number")
    if abs(int(text)) > LARGEST:
        raise ValueError(f"{text} is beyond {LARGEST}")
    return int(text)


def _quoted(texts: tuple[str, ...]) -> str:
    return ", ".join(map(repr, texts)) or "none"
