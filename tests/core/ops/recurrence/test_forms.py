"""The three forms of a linear recurrence give the same numbers; one mechanism is another's limit."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.utils.flop_counter import FlopCounterMode

from zoo.core import Steps, chunked, parallel, recurrent
from zoo.core.ops.recurrence.forms import matrix

KINDS = {
    "sums": (0, False),
    "a decay for each head": (1, False),
    "a decay for each channel": (4, False),
    "delta rule": (0, True),
    "gated delta rule": (1, True),
    "delta rule with a decay for each channel": (4, True),
}
"""Decays of a head, and whether there is a rate."""


def draw(kind: str, n: int, strength: float = 1.0, dtype: torch.dtype = torch.float64) -> Steps:
    torch.manual_seed(n)
    decays, rate = KINDS[kind]
    q, k, v = (torch.randn(2, 3, n, size, dtype=torch.float64) for size in (4, 4, 5))
    decay = -strength * torch.rand(2, 3, n, decays, dtype=torch.float64) if decays else None
    beta = 2 * torch.rand(2, 3, n, 1, dtype=torch.float64) if rate else None
    return Steps._make(None if x is None else x.to(dtype) for x in (q, normalize(k, dim=-1), v, decay, beta))


def memory() -> Tensor:
    return torch.randn(2, 3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def close(*pair: Tensor) -> None:
    torch.testing.assert_close(*pair, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 5, 64, 65, 130])  # chunks of 1 and 7 are cut into segments, too
def test_the_forms_agree_at_any_length_and_chunk(kind: str, n: int) -> None:
    steps = draw(kind, n)
    read, state = recurrent(steps, memory())
    for size in (1, 7, 64):
        for got, wanted in zip(chunked(steps, memory(), size), (read, state), strict=True):
            close(got, wanted)
    if n:
        close(parallel(steps), recurrent(steps)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_that_is_not_there_neither_decays_nor_writes(kind: str) -> None:
    steps = draw(kind, 9)
    valid = torch.tensor([[1, 0, 1, 1, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 1, 1, 1, 1]]).bool()
    spoiled = Steps._make(None if x is None else x.masked_fill(~valid[:, None, :, None], torch.nan) for x in steps)
    read, state = chunked(spoiled.masked(valid[:, None]), memory(), 4)
    for row, there in enumerate(valid):
        alone = Steps._make(None if x is None else x[row, :, there] for x in steps)
        wanted, kept = recurrent(alone, memory()[row])
        close(read[row][:, there], wanted)
        close(state[row], kept)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_the_chunked_form(kind: str) -> None:
    steps = draw(kind, 5)
    given = [x[0, 0].clone().requires_grad_() for x in steps if x is not None]
    names = [name for name, x in zip(Steps._fields, steps, strict=True) if x is not None]

    def form(state: Tensor, *parts: Tensor) -> tuple[Tensor, Tensor]:
        return chunked(Steps(**dict(zip(names, parts, strict=True))), state, 3)

    assert torch.autograd.gradcheck(form, (memory()[0, 0].clone().requires_grad_(), *given))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind][0]])
@pytest.mark.parametrize("strength", [torch.inf, 1e30, 1e3, 30.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_decay_to_nothing_gives_no_nan_and_the_same_in_all_forms(
    kind: str, strength: float, dtype: torch.dtype
) -> None:
    steps = draw(kind, 40, dtype=dtype)
    assert steps.decay is not None
    decay = torch.where(torch.rand(steps.decay.shape) < 0.3, -strength, steps.decay).to(dtype).requires_grad_()
    steps = steps._replace(decay=decay)
    got = chunked(steps, None, 16)[0]
    for other in (parallel(steps), recurrent(steps)[0]):
        torch.testing.assert_close(got, other, rtol=0, atol=1e-10 if dtype == torch.float64 else 2e-4)
    got.square().sum().backward()
    assert decay.grad is not None
    assert bool(decay.grad.isfinite().all())


def test_one_decay_for_all_channels_is_a_decay_of_the_head_and_none_is_a_sum() -> None:
    steps = draw("a decay for each head", 70)
    assert steps.decay is not None
    each = steps._replace(decay=steps.decay.expand(-1, -1, -1, 4))
    for form in (lambda x: chunked(x)[0], parallel, lambda x: recurrent(x)[0]):
        close(form(each), form(steps))
        close(form(steps._replace(decay=0 * steps.decay)), form(steps._replace(decay=None)))
    fixed = steps._replace(decay=torch.full_like(steps.decay, -0.25))
    age = (torch.arange(70)[:, None] - torch.arange(70)).double()
    by_definition = (steps.q @ steps.k.mT * torch.exp(-0.25 * age).tril()) @ steps.v  # arXiv:2307.08621 eq. 5
    close(chunked(fixed)[0], by_definition)
    close(parallel(steps._replace(decay=None)), (steps.q @ steps.k.mT).tril() @ steps.v)


def test_gated_delta_with_gate_1_is_delta_in_every_form() -> None:
    """In flash-linear-attention it was not (fla-org/flash-linear-attention #104)."""
    steps = draw("delta rule", 70)
    gated = steps._replace(decay=torch.zeros(2, 3, 70, 1, dtype=torch.float64))
    for form in (lambda x: chunked(x)[0], parallel, lambda x: recurrent(x)[0]):
        close(form(gated), form(steps))


def test_delta_reads_back_the_newest_value_of_a_key_and_sums_read_all_of_them() -> None:
    keys = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 0, 1, 0]]
    values = torch.arange(12.0, dtype=torch.float64).view(6, 2)
    writes = Steps(keys, keys, values, None, torch.ones(6, 1, dtype=torch.float64))
    newest, summed = chunked(writes)[1], chunked(writes._replace(rate=None))[1]
    assert newest.tolist() == [[10.0, 11.0], [8.0, 9.0], [4.0, 5.0], [0.0, 0.0]]
    assert summed.tolist() == [[16.0, 19.0], [10.0, 12.0], [4.0, 5.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_is_what_is_multiplied_with_the_values_and_reads_no_later_one(kind: str) -> None:
    steps = draw(kind, 6)
    close(matrix(steps) @ steps.v, recurrent(steps)[0])
    assert not matrix(steps).triu(1).any()


def test_the_operations_grow_with_the_length() -> None:
    counted = []
    for n in (512, 1024):
        with FlopCounterMode(display=False) as counter:
            chunked(draw("gated delta rule", n))
        counted.append(counter.get_total_flops())
    assert counted[1] == 2 * counted[0]
