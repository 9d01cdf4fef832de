"""The three forms of a linear recurrence, which give the same numbers.

`recurrent` is its definition, token by token. `parallel` multiplies the values by a matrix of all pairs of tokens.
`chunked` does that within chunks and carries the state from chunk to chunk: its time is linear in the length.
Axes: as in `zoo.core.ops.recurrence.steps`; m chunks, l tokens of a chunk.
"""

from itertools import repeat

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.ops.recurrence.pairs import pairs
from zoo.core.ops.recurrence.steps import Steps, decays_behind, decays_up_to

CHUNK = 64
"""Tokens that are compared pair by pair; more of them cost products, fewer cost states that are kept."""
SEGMENT = 16
"""Chunks that are computed at once: their tensors stay in the cache of a processor, however long the rows are."""


def recurrent(
    steps: Steps, state: Float[Tensor, "*b d e"] | None = None
) -> tuple[Float[Tensor, "*b n e"], Float[Tensor, "*b d e"]]:
    """Give what each token reads, and the state behind the last.

    Args:
        steps: the tokens.
        state: before the first; zeros if None.
    """
    state, read = steps.empty if state is None else state, []
    decays = repeat(None) if steps.decay is None else steps.decay.exp()[..., None].unbind(-3)
    rates = repeat(None) if steps.rate is None else steps.rate.unbind(-2)
    for q, k, v, decay, rate in zip(*(x.unbind(-2) for x in steps[:3]), decays, rates, strict=False):
        state = state if decay is None else decay * state
        written = v if rate is None else rate * (v - (k[..., None, :] @ state)[..., 0, :])
        state = state + k[..., None] * written[..., None, :]
        read.append((q[..., None, :] @ state)[..., 0, :])
    return torch.stack(read, -2) if read else torch.zeros_like(steps.v), state


def matrix(steps: Steps) -> Float[Tensor, "*b n n"]:
    """Give the weight with which each token reads each value, where nothing was before; 0 for later ones."""
    found = pairs(steps.q, steps.k, steps.decay)
    if steps.rate is None:
        return found
    return torch.linalg.solve_triangular(_overlaps(steps, steps.rate), found, upper=False, left=False) * steps.rate.mT


def parallel(steps: Steps) -> Float[Tensor, "*b n e"]:
    """Give what each token reads, where nothing was before, by a matrix of all pairs."""
    return matrix(steps) @ steps.v


def chunked(
    steps: Steps, state: Float[Tensor, "*b d e"] | None = None, size: int = CHUNK
) -> tuple[Float[Tensor, "*b n e"], Float[Tensor, "*b d e"]]:
    """Give what `recurrent` gives, by products of chunks.

    Args:
        steps: the tokens.
        state: before the first; zeros if None.
        size: tokens of a chunk at most; chunks are as equal as can be, so little is filled up.
    """
    state, read = steps.empty if state is None else state, []
    if not steps.q.shape[-2]:
        return torch.zeros_like(steps.v), state
    parts = (repeat(None) if x is None else x.split(SEGMENT * size, -2) for x in steps)
    for part in zip(*parts, strict=False):
        y, state = _segment(Steps._make(part), state, size)
        read.append(y)
    return torch.cat(read, -2), state


def _segment(
    steps: Steps, state: Float[Tensor, "*b d e"], size: int
) -> tuple[Float[Tensor, "*b n e"], Float[Tensor, "*b d e"]]:
    n = steps.q.shape[-2]
    count = -(-n // size)
    steps = steps.cut(count, -(-n // count))
    if steps.decay is None:
        q, k, old, left = steps.q, steps.k, steps.k, None
    else:
        before, behind = decays_up_to(steps.decay).exp(), decays_behind(steps.decay).exp()
        q, k, old, left = steps.q * before, steps.k * behind, steps.k * before, before[..., -1, :, None]
    if steps.rate is None:
        written, states = steps.v, _carry(k.mT @ steps.v, left, state)
    else:
        written, states = _correct(steps, steps.rate, k, old, left, state)
    y = pairs(steps.q, steps.k, steps.decay) @ written + q @ states[..., :-1, :, :]
    return y.flatten(-3, -2)[..., :n, :], states[..., -1, :, :]


def _carry(
    written: Float[Tensor, "*b m d e"], left: Float[Tensor, "*b m c 1"] | None, state: Float[Tensor, "*b d e"]
) -> Float[Tensor, "*b m+1 d e"]:
    """Give the state before each chunk, and behind the last, from what each chunk writes and leaves of the state."""
    if left is None:
        return torch.cat([state.unsqueeze(-3), written], -3).cumsum(-3)
    states = [state]
    for new, share in zip(written.unbind(-3), left.unbind(-3), strict=True):
        states.append(torch.addcmul(new, share, states[-1]))
    return torch.stack(states, -3)


def _correct(
    steps: Steps,
    rate: Float[Tensor, "*b m l 1"],
    k: Float[Tensor, "*b m l d"],
    old: Float[Tensor, "*b m l d"],
    left: Float[Tensor, "*b m c 1"] | None,
    state: Float[Tensor, "*b d e"],
) -> tuple[Float[Tensor, "*b m l e"], Float[Tensor, "*b m+1 d e"]]:
    """Give what each token writes under the delta rule, and the states as `_carry` does (arXiv:2406.06484 sec. 3.2).

    Token t writes u_t = β_t (v_t - what is stored under k_t). That depends on what the tokens before wrote, and on the
    state before the chunk: with the overlaps of keys as a triangular matrix T, T u = β v - β exp(decays) k S.
    """
    wanted, sizes = rate * torch.cat([steps.v, old], -1), (steps.v.shape[-1], old.shape[-1])
    found = torch.linalg.solve_triangular(_overlaps(steps, rate), wanted, upper=False, unitriangular=True)
    new, old = found.split(sizes, -1)
    states, written = [state], []
    shares = repeat(None) if left is None else left.unbind(-3)
    for value, stored, key, share in zip(*(x.unbind(-3) for x in (new, old, k)), shares, strict=False):
        written.append(value - stored @ states[-1])
        kept = states[-1] if share is None else share * states[-1]
        states.append(kept + key.mT @ written[-1])
    return torch.stack(written, -3), torch.stack(states, -3)


def _overlaps(steps: Steps, rate: Float[Tensor, "*b n 1"]) -> Float[Tensor, "*b n n"]:
    """Give T of `_correct`: 1 on the diagonal, under it β_t k_tᵀ k_s with the decays between."""
    found = (rate * pairs(steps.k, steps.k, steps.decay)).tril(-1)
    return found + torch.eye(found.shape[-1], dtype=found.dtype, device=found.device)
