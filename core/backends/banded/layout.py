"""Chunks of queries and the windows of keys they read: the layout of attention in O(T·(C+w)).

Queries are cut into chunks of C; the chunk at position p reads the C + left + right keys from p - left on. Keys are
laid into slots, one for each position, with a gap behind each row, so that rows and chunks merge into one axis and the
windows are one overlapping view of the slots. Windows that lie across a gap belong to chunks without queries.
Axes: b rows (batch, or batch and heads), r query heads for one head of keys, n queries, k keys, f features, c chunks,
l places in a chunk, w width of a window.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from zoo.core.patterns.local import Chunk
from zoo.core.patterns.pattern import And, Or, Pattern

FAR = 1 << 62
"""Reach of a pattern without bound."""


@dataclass(frozen=True)
class Chunks:
    """Lay queries and keys into chunks.

    Args:
        size: queries in a chunk.
        left: keys of a window that lie before its chunk.
        right: keys of a window that lie behind its chunk.
        lead: empty places before the first query.
        queries: number of queries.
        keys: number of keys.
        start: position of the first query.
    """

    size: int
    left: int
    right: int
    lead: int
    queries: int
    keys: int
    start: int

    @property
    def count(self) -> int:
        """Chunks in a row."""
        return -(-(self.lead + self.queries) // self.size)

    @property
    def width(self) -> int:
        """Keys in a window."""
        return self.left + self.size + self.right

    @property
    def gap(self) -> int:
        """Empty chunks between two rows."""
        return -(-(self.left + self.right) // self.size)

    @property
    def first(self) -> int:
        """Position of the first slot."""
        return self.start - self.lead - self.left

    @property
    def whole(self) -> tuple[int, int]:
        """Range of the chunks whose windows lie inside the keys."""
        begin = min(self.count, max(0, -(self.first // self.size)))
        end = max(begin, min(self.count, (self.keys - self.width - self.first) // self.size + 1))
        return begin, end

    def filled(self, rows: int) -> int:
        """Count the chunks of all rows, with the gaps between them."""
        return rows * (self.count + self.gap) - self.gap

    def split(self, x: Shaped[Tensor, "b r n f"]) -> Shaped[Tensor, "c rl f"]:
        """Cut queries into chunks; several rows have empty ones in the gaps and behind the last."""
        rows, repeats = x.shape[:2]
        steps = self.count if rows == 1 else self.count + self.gap
        whole = _between(x, self.lead, steps * self.size - self.lead - self.queries)
        chunks = whole.unflatten(2, (steps, self.size)).transpose(1, 2)
        return chunks.reshape(rows * steps, repeats * self.size, x.shape[3])

    def join(self, y: Shaped[Tensor, "c rl f"], rows: int, repeats: int = 1) -> Shaped[Tensor, "b r n f"]:
        """Undo `split`; chunks behind the last row may be missing."""
        flat = y.unflatten(1, (repeats, self.size)).transpose(0, 1).flatten(1, 2)  # a view for one repeat
        steps = self.count + self.gap
        if rows == 1:
            by_row = flat[None]
        elif len(y) == rows * steps:
            by_row = flat.unflatten(1, (rows, -1)).transpose(0, 1)
        else:
            by_row = flat.unfold(1, self.count * self.size, steps * self.size).permute(1, 0, 3, 2)
        return by_row[:, :, self.lead : self.lead + self.queries]

    def slots(self, x: Shaped[Tensor, "b k f"]) -> Shaped[Tensor, "s f"]:
        """Lay keys into slots, those of the rows behind each other; slots without a key are 0."""
        length = (self.count + self.gap) * self.size
        before = min(max(0, -self.first), length)
        cut = x[:, max(0, self.first) : max(0, self.first + length)]
        return _between(cut, before, length - before - cut.shape[1]).flatten(0, 1)

    def windows(self, slots: Shaped[Tensor, "s f"]) -> Shaped[Tensor, "c w f"]:
        """View the slots that each chunk reads; the view overlaps itself."""
        return slots.unfold(0, self.width, self.size).transpose(1, 2)

    def spread(self, windows: Float[Tensor, "c w f"], slots: Float[Tensor, "s f"], at: int) -> None:
        """Add windows to the slots they are views of.

        Args:
            windows: of some chunks.
            slots: all of them; changed.
            at: the first of these chunks.
        """
        by_chunk = slots.unflatten(0, (-1, self.size))
        for step, part in enumerate(windows.split(self.size, dim=1)):
            by_chunk[at + step : at + step + len(windows), : part.shape[1]] += part


def _between(x: Shaped[Tensor, "*b n f"], before: int, after: int) -> Shaped[Tensor, "*b m f"]:
    """Put zeros before and behind; joining writes once where padding writes twice."""
    if not before and not after:
        return x
    return torch.cat(
        [x.new_zeros(*x.shape[:-2], before, x.shape[-1]), x, x.new_zeros(*x.shape[:-2], after, x.shape[-1])], -2
    )


def chunks(pattern: Pattern, queries: int, keys: int, start: int, device: str) -> Chunks:
    """Choose chunks for a pattern whose cover is bounded on both sides; there must be queries and keys.

    Args:
        pattern: who may read whom.
        queries: number of queries.
        keys: number of keys.
        start: position of the first query.
        device: type of the device.
    """
    left, right, step = _reach(pattern)
    lead = start % step
    left = max(0, min(left, start + queries - 1))
    right = max(0, min(right, keys - 1 - start + lead))
    size = min(_size(left + right, device), queries)
    size = step * max(1, size // step)
    return Chunks(size, left, right, lead, queries, keys, start)


def _size(window: int, device: str) -> int:
    """Give the number of queries in a chunk that was fastest."""
    if device != "cpu":
        return 64 if window <= 512 else 128
    return 16 if window <= 16 else 32 if window <= 128 else 64 if window <= 512 else 128


def _reach(pattern: Pattern) -> tuple[int, int, int]:
    """Tell how far queries read beyond the ends of their chunk, and of what its length has to be a multiple."""
    if isinstance(pattern, Chunk):
        return pattern.left_chunks * pattern.size, 0, pattern.size
    cover = pattern.cover()
    if isinstance(pattern, And | Or):
        a, b = _reach(pattern.left), _reach(pattern.right)
        step = max(a[2], b[2])
        if step % a[2] == 0 == step % b[2]:
            join = min if isinstance(pattern, And) else max
            return join(a[0], b[0]), join(a[1], b[1]), step
    return (FAR if cover.left is None else cover.left), (FAR if cover.right is None else cover.right), 1
