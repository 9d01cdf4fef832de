"""What a faster way changes in the answers."""

import numpy as np
import torch

from zoo.bench.speed.quality import compare_choices, compare_scores


def test_scores_are_compared_by_their_best_class_and_their_largest_error() -> None:
    wanted = torch.tensor([[0.0, 2.0], [2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    found = wanted.clone()
    found[0] = torch.tensor([2.0, 1.0])
    deviation = float(wanted.double().std())
    assert compare_scores(found, wanted) == f"75.0% the same best, error {2 / deviation:.2g} of the deviation"


def test_the_largest_error_may_be_in_any_output_in_arrays_or_tensors() -> None:
    scores, cache = torch.randn(3, 4), torch.tensor([-1.0, 1.0])
    found = [scores.numpy(), np.array([-1.0, 1.5])]
    error = 0.5 / float(cache.double().std())
    assert compare_scores(found, (scores, cache)) == f"100.0% the same best, error {error:.2g} of the deviation"


def test_choices_are_counted() -> None:
    assert compare_choices(torch.tensor([[1, 2, 3]]), torch.tensor([[1, 5, 3]])) == "2 of 3 tokens the same"
