"""Initial weights."""

import math

import torch
from torch import nn

from zoo.core import init_weights


def test_linear_layers_are_drawn_from_xaviers_uniform_distribution() -> None:
    layer = nn.Linear(60, 90)
    init_weights(nn.Sequential(layer))
    bound = math.sqrt(6 / (60 + 90))
    assert layer.weight.abs().max() <= bound
    torch.testing.assert_close(layer.weight.var(), torch.tensor(bound**2 / 3), rtol=0.1, atol=0)
    assert layer.bias.count_nonzero() == 0


def test_kernels_are_drawn_from_a_normal_distribution_and_norms_stay() -> None:
    kernel, norm = nn.Conv2d(8, 64, 3), nn.LayerNorm(4)
    nn.init.constant_(norm.weight, 3.0)
    init_weights(nn.ModuleList([kernel, norm]))
    torch.testing.assert_close(kernel.weight.std(), torch.tensor(0.02), rtol=0.1, atol=0)
    assert kernel.bias is not None
    assert kernel.bias.count_nonzero() == 0
    assert norm.weight.unique().tolist() == [3.0]
