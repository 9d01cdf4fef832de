import torch

from zoo.data.sequences.neighbours import Neighbours


def test_each_token_asks_for_the_sum_of_the_two_before_it() -> None:
    task = Neighbours(length=7, symbols=3)
    drawn = task.draw(20, torch.Generator().manual_seed(0))
    for ids, targets in zip(drawn.ids.tolist(), drawn.targets.tolist(), strict=True):
        before = [0, 0, *ids]
        assert targets == [(before[place] + before[place + 1]) % 3 for place in range(7)]
