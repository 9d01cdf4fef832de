"""Packing: sets that do not read each other."""

import pytest
import torch

from zoo.core import Causal, InputError, Segments, Window, attend

pytestmark = pytest.mark.usefixtures("float64")


def test_packed_sets_answer_as_if_each_were_alone() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 9, 2, 4, dtype=torch.float64) for _ in range(3))
    ids = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2, 2]])
    for pattern in (Causal(), Window(1)):
        packed = attend(q, k, v, pattern, Segments(ids))
        alone = [attend(q[:, a:b], k[:, a:b], v[:, a:b], pattern) for a, b in ((0, 3), (3, 7), (7, 9))]
        torch.testing.assert_close(packed, torch.cat(alone, 1))


def test_a_negative_set_is_not_there() -> None:
    x = torch.randn(1, 3, 1, 2)
    y = attend(x, x, x, keys=Segments(torch.tensor([[0, -1, -1]])))
    torch.testing.assert_close(y[:, :1], x[:, :1])
    assert not y[:, 1:].any()


def test_queries_of_their_own_need_their_sets() -> None:
    q, k = torch.randn(1, 2, 1, 2), torch.randn(1, 3, 1, 2)
    ids = torch.tensor([[0, 1, 1]])
    with pytest.raises(InputError, match="queries: give `queries=`"):
        attend(q, k, k, keys=Segments(ids))
    y = attend(q, k, k, keys=Segments(ids, torch.tensor([[0, 5]])))
    torch.testing.assert_close(y[:, 0], k[:, 0])
    assert not y[:, 1].any()


def test_sets_for_other_keys_are_refused() -> None:
    x = torch.randn(1, 3, 1, 2)
    with pytest.raises(InputError, match=r"Segments of \(1, 2\) for \(1, 3\) keys"):
        attend(x, x, x, keys=Segments(torch.tensor([[0, 1]])))
