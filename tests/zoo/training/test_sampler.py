from itertools import islice
from typing import Any

import torch

from zoo.training.sampler import Sampler


def test_an_epoch_holds_each_example_once(quadrants: Any) -> None:
    order = Sampler(quadrants, 7, seed=0)
    assert order.per_epoch == 6
    targets = torch.cat([batch.target for batch in islice(order.batches(), 6)])
    assert targets.bincount().tolist() == [10, 10, 10, 10]


def test_the_order_is_a_function_of_seed_and_step(quadrants: Any) -> None:
    whole = list(islice(Sampler(quadrants, 7, seed=3).batches(), 20))
    later = list(islice(Sampler(quadrants, 7, seed=3).batches(13), 7))
    for one, other in zip(whole[13:], later, strict=True):
        assert torch.equal(one.inputs[0], other.inputs[0])  # with its augmentation
    other = next(Sampler(quadrants, 7, seed=4).batches())
    assert not torch.equal(whole[0].inputs[0], other.inputs[0])
    assert not torch.equal(whole[0].inputs[0], whole[6].inputs[0])  # the next epoch


def test_processes_share_the_batches(quadrants: Any) -> None:
    alone = [batch.target for batch in islice(Sampler(quadrants, 4, seed=0).batches(), 8)]
    one = [batch.target for batch in islice(Sampler(quadrants, 4, 0, rank=0, world=2).batches(), 4)]
    two = [batch.target for batch in islice(Sampler(quadrants, 4, 0, rank=1, world=2).batches(), 4)]
    joined = [each for pair in zip(one, two, strict=True) for each in pair]
    assert all(torch.equal(a, b) for a, b in zip(alone, joined, strict=True))
