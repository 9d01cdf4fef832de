"""Relative biases in banded attention: added to the scores of chunks with their windows and with global columns.

Axes: b batch, c chunks of the batch's rows with their gaps (or 1), h heads, q queries, l places in a chunk, w keys of a
window and columns.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.backends.banded.layout import Chunks
from zoo.core.backends.problem import Call
from zoo.core.scoring.relative_bias import Relative, skew

TOGETHER = 256
"""Queries that are scored against a column at once: a bias that depends on the query does so for as many offsets."""


def in_chunks(call: Call, chunks: Chunks, columns: tuple[int, ...], outside: float) -> Float[Tensor, "#c h l w"]:
    """Return the bias of each chunk's scores.

    Args:
        call: with a relative bias.
        chunks: of its queries.
        columns: positions of keys that stand behind each window.
        outside: stands where the pattern has no offset.
    """
    bias, cover = call.bias, call.pattern.cover()
    assert isinstance(bias, Relative)
    assert isinstance(call.start, int)
    assert cover.left is not None
    assert cover.right is not None
    heads, length = call.q.shape[1:3]
    lowest = -min(cover.left, call.start + length - 1)
    highest = min(cover.right, call.k.shape[2] - 1 - call.start)
    if lowest <= highest:
        band = bias.band(by_chunk(call.q, chunks), lowest, highest, call.scale)
        added = skew(band.expand(-1, heads, chunks.size, -1), chunks.size + highest - lowest, outside)
        before = chunks.left + lowest
        added = pad(added, (before, chunks.width - added.shape[3] - before), value=outside)
    else:
        added = call.q.new_full((1, heads, chunks.size, chunks.width), outside)
    if not columns:
        return added
    far = by_chunk(_of_columns(call, bias, columns), chunks)
    return torch.cat([added.expand(len(far), -1, -1, -1), far], 3)


def by_chunk(x: Float[Tensor, "b h q d"], chunks: Chunks) -> Float[Tensor, "c h l d"]:
    """Cut queries into chunks with all their heads."""
    heads, d = x.shape[1], x.shape[3]
    flat = x.transpose(1, 2).flatten(2)[:, None]
    return chunks.split(flat).unflatten(2, (heads, d)).transpose(1, 2)


def _of_columns(call: Call, bias: Relative, columns: tuple[int, ...]) -> Float[Tensor, "b h q w"]:
    parts = []
    for first in range(0, call.q.shape[2], TOGETHER):
        q, i = (x[..., first : first + TOGETHER, :] for x in (call.q, call.i[..., None]))
        at = [torch.tensor([[column]], device=q.device) for column in columns]
        parts.append(torch.cat([bias.scores(q, i[..., 0], j, call.scale).expand(*q.shape[:3], 1) for j in at], 3))
    return torch.cat(parts, 2)
