"""One query of each row that reads all keys gives what a plan gives, and is checked as any other call."""

import pytest
import torch
from torch import Tensor

from zoo.core import InputError, attend
from zoo.core.engine import one_query
from zoo.core.engine.tracing import watch


def draw(queries: int, heads: int, groups: int, value_dim: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return (
        torch.randn(3, queries, heads, 8),
        torch.randn(3, 7, groups, 8),
        torch.randn(3, 7, groups, value_dim),
    )


@pytest.mark.parametrize(("heads", "groups", "value_dim"), [(4, 4, 8), (4, 2, 8), (2, 1, 5)])
@torch.no_grad()
def test_without_a_plan_the_answer_is_that_of_the_chosen_backend(
    heads: int, groups: int, value_dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, k, v = draw(1, heads, groups, value_dim)
    planned = []
    with watch(lambda plan, _: planned.append(plan.backend)):
        wanted = attend(q, k, v)
    assert planned == ["dense"]
    monkeypatch.setattr("zoo.core.engine.dispatch._attend", None)
    assert torch.equal(attend(q, k, v), wanted)


@torch.no_grad()
def test_it_serves_one_query_of_each_row_without_gradient() -> None:
    q, k, v = draw(1, 2, 2)
    assert one_query.serves(q, k, v)
    assert not one_query.serves(*draw(2, 2, 2))
    assert not one_query.serves(q[0], k, v)
    assert not one_query.serves(q, k[:, :0], v[:, :0])
    assert not one_query.serves(q.to("meta"), k.to("meta"), v.to("meta"))
    with torch.enable_grad():
        assert not one_query.serves(q, k, v)


@torch.no_grad()
def test_shapes_that_do_not_fit_are_refused() -> None:
    q, k, v = draw(1, 4, 3)
    with pytest.raises(InputError, match="4 query heads are not a multiple of 3"):
        attend(q, k, v)
