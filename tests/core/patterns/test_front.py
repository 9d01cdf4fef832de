import torch

from zoo.core import front_order, front_places, vectors_at


def test_what_is_there_comes_first_and_keeps_its_order() -> None:
    valid = torch.rand(5, 3, 7, generator=torch.Generator().manual_seed(0)) > 0.4
    assert torch.equal(front_order(valid), (~valid).long().argsort(dim=-1, stable=True))


def test_vectors_come_back_to_where_they_stood() -> None:
    valid = torch.tensor([[False, True, False, True], [False] * 4, [True] * 4])
    x = torch.arange(24.0).view(3, 4, 2)
    front = vectors_at(x, front_order(valid))
    assert torch.equal(front[0, :2], x[0, [1, 3]])
    assert torch.equal(vectors_at(front, front_places(valid)), x)


def test_rows_of_nothing_stay_so() -> None:
    assert front_order(torch.ones(2, 0, dtype=torch.bool)).shape == (2, 0)
