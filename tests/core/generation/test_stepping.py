"""What reading token by token keeps: no graph of gradients, and no place behind the longest row."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core.generation.stepping import Cached, DecodingStep, Recomputed

IDS, LENGTHS = torch.tensor([[3, 4, 5, 6, 3], [6, 5, 0, 0, 0]]), torch.tensor([5, 2])
ONE = torch.tensor([4])


@pytest.mark.parametrize(("mean", "kind"), [(False, Cached), (True, Recomputed)])
def test_scores_hold_no_graph(writer: Callable[..., Any], mean: bool, kind: type[DecodingStep]) -> None:
    """Else a state would hold the graphs of all steps, though only numbers are taken from them."""
    decoding, prompt, _ = writer(mean=mean)._begin((IDS, LENGTHS), None, 3)
    assert type(decoding) is kind
    assert not decoding.prefill(prompt).requires_grad
    assert not decoding.step(ONE.expand(2)).requires_grad


def test_when_the_longest_row_has_left_the_others_are_read_without_its_length(writer: Callable[..., Any]) -> None:
    model = writer(mean=True)
    decoding, prompt, _ = model._begin((IDS, LENGTHS), None, 3)
    decoding.prefill(prompt)
    decoding.reorder(torch.tensor([1]))
    scores = decoding.step(ONE)
    assert decoding.ids.tolist() == [[6, 5, 4]]
    torch.testing.assert_close(scores, model(decoding.ids)[:, -1])
