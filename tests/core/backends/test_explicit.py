"""The explicit backend: blocks of queries give what all at once gives, with memory for one block."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import Additive, Causal, Hard, attend
from zoo.core.backends import explicit
from zoo.core.backends.explicit import length
from zoo.testing.strategies import Case, cases, random_cases


@given(data=st.data())
@random_cases(16)
def test_blocks_of_one_query_give_what_the_reference_gives(data: st.DataObject) -> None:
    case = data.draw(cases("explicit"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explicit, "BLOCK", 1)
        tensors = case.tensors()
        results = []
        for backend in ("explicit", "reference"):
            y = case.attend(tensors, backend=backend)
            results.append([y, *torch.autograd.grad(y.square().sum(), tensors, materialize_grads=True)])
        torch.testing.assert_close(*results, atol=1e-11, rtol=1e-9)
        weights = [case.attend(tensors, backend=b, return_weights=True)[1] for b in ("explicit", "reference")]
        torch.testing.assert_close(*weights)


def largest_kept(backend: str) -> int:
    case = Case(Causal(), None, 1, 64, 64, 0, 0)
    tensors, sizes = case.tensors(), [0]

    def pack(x: Tensor) -> Tensor:
        sizes.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        case.attend(tensors, backend=backend).sum()
    return max(sizes)


def test_training_keeps_nothing_square(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explicit, "BLOCK", 1 << 10)
    assert largest_kept("explicit") < 64 * 64 <= largest_kept("reference")


def test_dropout_is_the_same_when_a_block_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explicit, "BLOCK", 1)
    q, k, v = (x.requires_grad_() for x in Case(Causal(), None, 1, 9, 9, 0, 1).tensors())
    torch.manual_seed(0)
    y = attend(q, k, v, Causal(), dropout=0.5, backend="explicit")
    of_v = torch.autograd.grad(y.sum(), v)[0]
    torch.manual_seed(0)
    again = attend(q, k, v.detach() + 1, Causal(), dropout=0.5, backend="explicit")
    torch.testing.assert_close((again - y).sum(), of_v.sum())


def test_it_serves_scores_and_norms_with_parameters() -> None:
    q, k, v = Case(Causal(), None, 1, 4, 4, 0, 2).tensors()
    score = Additive(torch.randn(4, 5, 8).double(), torch.randn(4, 5, 8).double(), torch.randn(4, 5).double())
    for norm in ("softmax", Hard()):
        answers = [attend(q, k, v, Causal(), score=score, norm=norm, backend=b) for b in ("explicit", "reference")]
        torch.testing.assert_close(*answers)


def test_a_block_has_at_least_one_query_and_at_most_all() -> None:
    assert length(1 << 30, 10) == 1
    assert length(1, 10) == 10
