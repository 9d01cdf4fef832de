"""What self-pretraining asks for."""

import torch
from torch import nn

from zoo.bench.attention.pretraining import MASKED, masked, next_token, telling_words
from zoo.core import IGNORED
from zoo.data.sequences import Drawn


def drawn(rows: int = 50) -> Drawn:
    ids = torch.randint(9, (rows, 20), generator=torch.Generator().manual_seed(0))
    return Drawn(ids, torch.tensor([20, *[12] * (rows - 1)]), torch.zeros_like(ids))


def test_each_place_asks_for_the_token_behind_it_and_padding_for_none() -> None:
    given = drawn()
    asked = next_token(given)
    assert torch.equal(asked.ids, given.ids)
    assert torch.equal(asked.targets[0, :-1], given.ids[0, 1:])
    assert (asked.targets[:, -1] == IGNORED).all()
    assert torch.equal(asked.targets[1:, :11], given.ids[1:, 1:12])
    assert (asked.targets[1:, 11:] == IGNORED).all()


def test_masked_tokens_are_asked_for_and_no_other() -> None:
    given = drawn()
    found = masked(given, 9, torch.Generator().manual_seed(1))
    hidden = found.ids == 9
    assert torch.equal(hidden, found.targets != IGNORED)
    assert torch.equal(found.targets[hidden], given.ids[hidden])
    assert torch.equal(found.ids[~hidden], given.ids[~hidden])
    assert not hidden[1:, 12:].any()
    share = hidden.sum() / given.lengths.sum()
    assert abs(share - MASKED) < 0.05


def test_a_batch_asks_for_one_token_at_least() -> None:
    one = Drawn(torch.zeros(1, 1, dtype=torch.long), torch.tensor([1]), torch.zeros(1, 1, dtype=torch.long))
    for seed in range(9):
        assert masked(one, 9, torch.Generator().manual_seed(seed)).targets.tolist() == [[0]]


def test_the_head_tells_words_only_for_a_while() -> None:
    model = nn.Module()
    model.head = nn.Module()
    model.head.linear = own = nn.Linear(3, 2)
    with telling_words(model, 7) as head:
        assert model.head.linear is head
        assert head.weight.shape == (7, 3)
    assert model.head.linear is own
