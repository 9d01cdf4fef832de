"""Attention masks of chunks and their windows: the exact pattern, padding and packing, for the covered pairs only.

After the keys of its window, a chunk may have columns of global positions; in the window these are masked, so each
pair counts once.
Axes: b batch, p distinct masks, c chunks of all rows, s chunks of a row with its gap, l places in a chunk, w columns.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.backends.banded.layout import Chunks
from zoo.core.backends.problem import Call
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.local import Chunk, Window
from zoo.core.patterns.pattern import And, Full, Or, Pattern

KEPT = 1 << 23
"""Pairs up to which masks are remembered: eight of them are 64 MiB at most."""


@dataclass(frozen=True, eq=False)
class Masks:
    """Distinct masks, True where a pair is masked, and the mask of each chunk.

    Args:
        masks: those that occur.
        of_chunk: the mask of each chunk; of the batch's rows, or the same for all.
        empties: whether all keys of some query are masked.
    """

    masks: Bool[Tensor, "p l w"]
    of_chunk: Int[Tensor, "#b s"]
    empties: bool


def find_masks(call: Call, chunks: Chunks, columns: tuple[int, ...]) -> Masks:
    """Find the masks of a call.

    Args:
        call: with its start as a number.
        chunks: of its queries.
        columns: positions of global keys, which follow the keys of each window.
    """
    pattern, size = call.pattern, chunks.count * chunks.size * (chunks.width + len(columns))
    keep = pattern.by_value and size <= KEPT and not torch.compiler.is_compiling()  # dynamo sees through no cache
    found = (_remembered if keep else _of_pattern)(pattern, chunks, columns, call.q.device)
    return found if call.valid is None else _of_rows(call, chunks, columns, found)


def _of_pattern(pattern: Pattern, chunks: Chunks, columns: tuple[int, ...], device: torch.device) -> Masks:
    """Find the masks of a pattern; chunks inside the keys share one where it does not matter where they are."""
    begin, end = chunks.whole
    shift_invariant = shared(pattern, chunks, columns)
    at = [begin, *range(begin), *range(end, chunks.count)] if shift_invariant else list(range(chunks.count))
    with torch.inference_mode(False):  # what is remembered may be met again where gradients are needed
        first = chunks.first + chunks.size * torch.tensor(at, device=device)[:, None, None]
        i = first + chunks.left + torch.arange(chunks.size, device=device)[:, None]
        j = first + torch.arange(chunks.width, device=device)
        inside = (j >= 0) & (j < chunks.keys)
        for column in columns:
            inside &= j != column
        masks = ~(pattern.allows(i, j.clamp(0, chunks.keys - 1)) & inside)
        if columns:
            beyond = ~pattern.allows(i, torch.tensor(columns, device=device).expand(1, 1, -1))
            masks = torch.cat([masks, beyond.expand(*masks.shape[:2], -1)], 2)
        of_chunk = torch.arange(chunks.count, device=device)
        if shift_invariant:
            of_chunk = torch.cat([of_chunk[:begin] + 1, of_chunk[begin:end] * 0, of_chunk[end:] + 1 - (end - begin)])
        real = (i[..., 0] >= chunks.start) & (i[..., 0] < chunks.start + chunks.queries)
        empties = torch.compiler.is_compiling() or bool((masks.all(2) & real).any())
        return Masks(masks, pad(of_chunk, (0, chunks.gap))[None], empties)


_remembered = lru_cache(maxsize=8)(_of_pattern)


def shared(pattern: Pattern, chunks: Chunks, columns: tuple[int, ...]) -> bool:
    """Tell whether the chunks whose windows lie inside the keys have one mask."""
    begin, end = chunks.whole
    return not columns and end > begin and uniform(pattern, chunks.size)


def uniform(pattern: Pattern, size: int) -> bool:
    """Tell whether moving query and key by so many positions changes nothing."""
    if isinstance(pattern, And | Or):
        return uniform(pattern.left, size) and uniform(pattern.right, size)
    return isinstance(pattern, Window | Causal | Full) or (isinstance(pattern, Chunk) and size % pattern.size == 0)


def _of_rows(call: Call, chunks: Chunks, columns: tuple[int, ...], found: Masks) -> Masks:
    """Mask padding keys and keys of other segments; a mask for each chunk of each row."""
    assert call.valid is not None
    rows, steps = len(call.valid), chunks.count + chunks.gap
    filled = chunks.filled(rows)
    masks = found.masks[found.of_chunk.expand(rows, steps).flatten()[:filled]]
    masks |= ~_read(call.valid, chunks, columns)[:, None]
    if call.segments is not None:
        queries, keys = call.segments
        of_queries = chunks.split(queries[:, None, :, None])[:filled]
        masks |= of_queries != _read(keys, chunks, columns)[:, None]
    of_chunk = torch.arange(rows * steps, device=masks.device).view(rows, steps)
    of_chunk = of_chunk * (torch.arange(steps, device=masks.device) < chunks.count)
    return Masks(masks, of_chunk, True)


def _read(x: Shaped[Tensor, "b k"], chunks: Chunks, columns: tuple[int, ...]) -> Shaped[Tensor, "c w"]:
    """Give what each chunk meets of a number for each key."""
    near = chunks.windows(chunks.slots(x[:, :, None]))[..., 0]
    if not columns:
        return near
    far = x[:, list(columns)].repeat_interleave(chunks.count + chunks.gap, dim=0)
    return torch.cat([near, far[: len(near)]], 1)


def of_heads(found: Masks, rows: int, heads: int, chunks: Chunks) -> Int[Tensor, " c"]:
    """Give the mask of each chunk where each head has chunks of its own."""
    every = found.of_chunk[:, None].expand(rows, heads, chunks.count + chunks.gap)
    return every.flatten()[: chunks.filled(rows * heads)]
