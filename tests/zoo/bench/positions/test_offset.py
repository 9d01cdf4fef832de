"""The task that only positions solve."""

import torch

from zoo.bench.positions.offset import Offset
from zoo.core import IGNORED


def test_each_token_asks_for_the_one_some_places_before() -> None:
    ids, lengths, targets = Offset(length=9, back=2).draw(4, torch.Generator().manual_seed(0))
    assert (targets[:, :2] == IGNORED).all()
    assert targets[:, 2:].equal(ids[:, :-2])
    assert lengths.tolist() == [9] * 4
    assert ids.max() < 8


def test_a_generator_draws_the_same_again() -> None:
    one, two = (Offset().draw(3, torch.Generator().manual_seed(5)).ids for _ in range(2))
    assert one.equal(two)
    assert len(Offset().words) == len(Offset().classes) == 1 / Offset().shortcuts()["guessing"]
