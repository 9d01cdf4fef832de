"""Faults of published linear recurrences, shown by their formulas, and that we do not have them."""

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, normalize

from zoo.core import Steps, Tokens, chunked, parallel, recurrent
from zoo.core.mechanisms.recurrence.retention import retention

N, D, CHUNK = 12, 4, 4


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = torch.randn(3, N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return q, normalize(k, dim=-1), v


def close(*pair: Tensor) -> None:
    torch.testing.assert_close(*pair, rtol=0, atol=1e-10)


def test_chunks_that_are_scaled_by_themselves_are_not_retention_behind_the_first() -> None:
    """Rows of a chunk were divided by the sum of its decays (microsoft/torchscale #54, #77).

    What is read of the chunks before was not, and the norm of heads cancels only a factor of all that a token reads.
    """
    q, k, v = drawn()
    gamma = torch.tensor(0.9, dtype=torch.float64)
    age = (torch.arange(CHUNK)[:, None] - torch.arange(CHUNK)).double()
    decays = (gamma**age).tril()
    state, found = torch.zeros(D, D, dtype=torch.float64), []
    for a, b, c in zip(q.split(CHUNK), k.split(CHUNK), v.split(CHUNK), strict=True):
        inside = a @ b.mT * decays / decays.sum(-1, keepdim=True)
        found.append(inside @ c + gamma ** torch.arange(1, CHUNK + 1)[:, None] * (a @ state))
        state = gamma**CHUNK * state + b.mT @ (decays[-1][:, None] * c)
    steps = Steps(q, k, v, gamma.log().expand(N, 1))
    theirs, wanted = (layer_norm(x, (D,), eps=0.0) for x in (torch.cat(found), recurrent(steps)[0]))
    close(theirs[:CHUNK], wanted[:CHUNK])
    assert (theirs - wanted)[CHUNK:].abs().max() > 0.1
    for size in (1, CHUNK, N):
        close(chunked(steps, None, size)[0], recurrent(steps)[0])


def test_a_retention_layer_gives_the_same_by_steps_and_at_once_though_its_norm_has_an_epsilon() -> None:
    """With factors that only a norm without an epsilon cancels, the forms differ (microsoft/torchscale #40)."""
    x = 1e-3 * torch.randn(1, N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole, scaled = (layer_norm(1e-3 * y, (D,), eps=1e-5) for y in (x, x / 2))
    assert (whole - scaled).abs().max() > 0.1 * whole.abs().max()
    torch.manual_seed(0)
    layer = retention()(D, 1).double().eval()
    with torch.no_grad():
        state = layer.state(1)
        close(torch.cat([layer(Tokens(token), None, state) for token in x.split(1, 1)], 1), layer(Tokens(x)))


def test_a_gate_of_1_changes_nothing() -> None:
    """Gated DeltaNet with gate 1 was not DeltaNet (fla-org/flash-linear-attention #104).

    exp was guarded against overflow; a guard that lets only logarithms below 0 through gives 0 where all are 0.
    """
    q, k, v = drawn()
    sums = torch.zeros(N, 1, dtype=torch.float64).cumsum(0)
    between = sums - sums.mT
    guarded = torch.where(between < 0, between, -torch.inf).exp()
    assert ((q @ k.mT * guarded).tril() @ v - (q @ k.mT).tril() @ v).abs().max() > 0.1
    plain = Steps(q, k, v, None, torch.full((N, 1), 0.7, dtype=torch.float64))
    gated = plain._replace(decay=torch.zeros(N, 1, dtype=torch.float64))
    for steps in (plain, gated):
        close(chunked(steps, None, CHUNK)[0], recurrent(plain)[0])
        close(parallel(steps), recurrent(plain)[0])


def test_strong_decays_neither_overflow_nor_cancel() -> None:
    """The inverse of a product of decays explodes, and 0 times it is NaN (fla #77, #122, #547)."""
    q, k, v = (x.float() for x in drawn())
    decay = torch.full((N, D), -30.0)
    sums = decay.cumsum(0)
    theirs = ((q * sums.exp()) @ (k * (-sums).exp()).mT).tril() @ v
    assert not theirs.isfinite().all()
    ours = chunked(Steps(q, k, v, decay), None, CHUNK)[0]
    torch.testing.assert_close(ours, (q * k).sum(-1, keepdim=True) * v, rtol=0, atol=1e-5)


def test_a_chunk_reads_the_state_before_it() -> None:
    """Equation 7 of RetNet's first version reads the one behind it (microsoft/unilm #1213)."""
    q, k, v = drawn()
    gamma = torch.tensor(0.9, dtype=torch.float64)
    steps = Steps(q, k, v, gamma.log().expand(N, 1))

    def published(later: float) -> Tensor:
        state, found, values = torch.zeros(D, D, dtype=torch.float64), [], torch.cat([v[: N - 1], later * v[N - 1 :]])
        age = (torch.arange(CHUNK)[:, None] - torch.arange(CHUNK)).double()
        for a, b, c in zip(q.split(CHUNK), k.split(CHUNK), values.split(CHUNK), strict=True):
            decays = (gamma**age).tril()
            state = gamma**CHUNK * state + b.mT @ (decays[-1][:, None] * c)
            crossed = gamma ** torch.arange(1, CHUNK + 1)[:, None] * (a @ state)
            found.append(a @ b.mT * decays @ c + crossed)
        return torch.cat(found)

    assert (published(9.0) - published(1.0))[N - CHUNK : N - 1].abs().max() > 0.1  # reads ahead
    for size in (1, CHUNK, N):
        close(chunked(steps, None, size)[0], recurrent(steps)[0])
