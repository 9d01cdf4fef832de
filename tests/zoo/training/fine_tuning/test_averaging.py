import pytest
import torch
from torch import nn

from zoo.training.fine_tuning.averaging import WeightAverage


def test_the_average_is_that_of_a_plain_loop_and_is_lent_for_a_while() -> None:
    model = nn.Linear(2, 2).double()
    average = WeightAverage(model, 0.9)
    mean = model.weight.detach().clone()
    for step in range(1, 200):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 2))
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        mean = decay * mean + (1 - decay) * model.weight.detach()
    now = model.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(model.weight.detach(), mean)
    torch.testing.assert_close(model.weight.detach(), now, rtol=0, atol=0)


def test_frozen_weights_have_no_average() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].requires_grad_(False)
    assert WeightAverage(model, 0.5).weights.keys() == {"1.weight", "1.bias"}


def test_an_average_that_was_saved_goes_on() -> None:
    model = nn.Linear(2, 2)
    saved = {name: torch.ones_like(each) for name, each in model.named_parameters()}
    average = WeightAverage(model, 0.5)
    average.load(saved)
    with average.applied():
        assert float(model.weight.detach().mean()) == pytest.approx(1)
