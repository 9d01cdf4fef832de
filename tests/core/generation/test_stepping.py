"""What reading token by token keeps: no graph of gradients, and no place behind the longest row."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core.generation.stepping import Again, Cached, Reading

IDS, LENGTHS = torch.tensor([[3, 4, 5, 6, 3], [6, 5, 0, 0, 0]]), torch.tensor([5, 2])
ONE = torch.tensor([4])


@pytest.mark.parametrize(("mean", "kind"), [(False, Cached), (True, Again)])
def test_scores_hold_no_graph(writer: Callable[..., Any], mean: bool, kind: type[Reading]) -> None:
    """Else a state would hold the graphs of all steps, though only numbers are taken from them."""
    reading, prompt, _ = writer(mean=mean)._begin((IDS, LENGTHS), None, 3)
    assert type(reading) is kind
    assert not reading.begin(prompt).requires_grad
    assert not reading.go_on(ONE.expand(2)).requires_grad


def test_when_the_longest_row_has_left_the_others_are_read_without_its_length(writer: Callable[..., Any]) -> None:
    model = writer(mean=True)
    reading, prompt, _ = model._begin((IDS, LENGTHS), None, 3)
    reading.begin(prompt)
    reading.reorder(torch.tensor([1]))
    scores = reading.go_on(ONE)
    assert reading.ids.tolist() == [[6, 5, 4]]
    torch.testing.assert_close(scores, model(reading.ids)[:, -1])
