"""Linear attention is a recurrent network: step by step equals all at once, with a state that does not grow."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import Causal, ConfigError, InputError, Kernel, Valid, attend
from zoo.core.cache.linear_state import Sums
from zoo.testing.strategies import random_cases


def draw(seed: int, b: int, q: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(b, q, 4, 6), (b, k, 2, 6), (b, k, 2, 5)]
    made = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return made[0], made[1], made[2]


@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 9), max_size=9), padded=st.booleans())
@random_cases(40)
def test_step_by_step_equals_all_at_once_with_gradients(seed: int, cuts: list[int], padded: bool) -> None:
    tensors = draw(seed, 2, 9, 9)
    for x in tensors:
        x.requires_grad_()
    valid = torch.rand(2, 9, generator=torch.Generator().manual_seed(seed)) < 0.6 if padded else None
    keys = None if valid is None else Valid(valid)
    whole = attend(*tensors, Causal(), keys, norm=Kernel(), backend="reference")
    state, answers = Sums(Kernel(), 2), []
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 9], strict=True):
        q, k, v = (x[:, first:last] for x in tensors)
        answers.append(state.step(q, k, v, None if valid is None else valid[:, first:last]))
    stepped = torch.cat(answers, dim=1)
    torch.testing.assert_close(stepped, whole, atol=1e-12, rtol=0)
    gradients = [torch.autograd.grad(y.square().sum(), tensors) for y in (stepped, whole)]
    torch.testing.assert_close(*gradients, atol=1e-10, rtol=0)
    assert state.lengths.tolist() == ([9, 9] if valid is None else valid.sum(1).tolist())


def test_the_state_does_not_grow_and_holds_the_two_sums_of_the_paper() -> None:
    _, k, v = draw(0, 1, 0, 7)
    state = Sums(Kernel(), 1)
    assert state.stored == 0
    state.append(k[:, :1], v[:, :1])
    size = state.stored
    state.append(k[:, 1:], v[:, 1:])
    assert state.stored == size
    phi = Kernel().features(k)
    assert state.s is not None
    assert state.z is not None
    torch.testing.assert_close(state.s, torch.einsum("bngf,bnge->bgfe", phi, v))
    torch.testing.assert_close(state.z, phi.sum(1))


def test_queries_read_what_was_appended() -> None:
    q, k, v = draw(1, 2, 3, 5)
    state = Sums(Kernel(), 2)
    state.append(k[:, :2], v[:, :2])
    state.append(k[:, 2:], v[:, 2:])
    torch.testing.assert_close(state.read(q), attend(q, k, v, norm=Kernel()))


def test_nan_in_the_padding_is_not_summed() -> None:
    q, k, v = draw(2, 1, 1, 3)
    state, clean = Sums(Kernel(), 1), Sums(Kernel(), 1)
    clean.append(k[:, 1:], v[:, 1:])
    k[:, 0], v[:, 0] = torch.nan, torch.inf
    state.append(k, v, torch.tensor([[False, True, True]]))
    torch.testing.assert_close(state.read(q), clean.read(q))


def test_a_row_of_padding_reads_zero() -> None:
    q, k, v = draw(3, 1, 2, 2)
    assert not Sums(Kernel(), 1).step(q, k, v, torch.zeros(1, 2, dtype=torch.bool)).any()


def test_reordered_rows_go_on_as_their_own() -> None:
    q, k, v = draw(4, 2, 4, 4)
    order = torch.tensor([1, 1, 0])
    state = Sums(Kernel(), 2)
    state.append(k[:, :3], v[:, :3])
    state.reorder(order)
    y = state.step(q[order, 3:], k[order, 3:], v[order, 3:])
    torch.testing.assert_close(y, attend(q, k, v, Causal(), norm=Kernel())[order, 3:])
    assert state.lengths.tolist() == [4, 4, 4]


def test_a_sum_cannot_be_cropped() -> None:
    with pytest.raises(ConfigError, match=r"crop\(2\): a state of constant size holds no single tokens"):
        Sums(Kernel(), 1).crop(2)


def test_a_detached_state_sends_no_gradient_back() -> None:
    q, k, v = draw(5, 1, 1, 2)
    state = Sums(Kernel(), 1)
    state.append(k.requires_grad_(), v)
    assert state.read(q).requires_grad
    state.detach()
    assert not state.read(q).requires_grad


def test_sums_of_half_precision_are_kept_in_float32() -> None:
    q, k, v = (x.bfloat16() for x in draw(6, 1, 1, 2))
    state = Sums(Kernel(), 1)
    state.append(k, v)
    assert state.sums is not None
    assert state.sums.dtype == torch.float32
    assert state.read(q).dtype == torch.bfloat16


def test_what_does_not_fit_is_refused_with_its_value() -> None:
    q, k, v = draw(7, 2, 1, 1)
    with pytest.raises(InputError, match="batch=0: a state has at least one row"):
        Sums(Kernel(), 0)
    with pytest.raises(InputError, match="a batch of 2 given to a state of 3 rows"):
        Sums(Kernel(), 3).append(k, v)
    with pytest.raises(InputError, match="nothing was appended yet"):
        Sums(Kernel(), 2).read(q)
