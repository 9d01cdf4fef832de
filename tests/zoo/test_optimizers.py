"""Optimisers and schedules by name."""

import pytest
import torch
from torch import nn
from torch.optim import Muon

from zoo import ConfigError
from zoo.core import Encoder, Tokens
from zoo.optimizers import block_matrices, optimizers_for, trapezoid


def test_decay_is_for_matrices_only() -> None:
    (optimizer,) = optimizers_for("adamw", nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)), 0.1, 0.5)
    groups = [(len(group["params"]), group["weight_decay"]) for group in optimizer.param_groups]
    assert groups == [(1, 0.5), (3, 0.0)]


def test_muon_takes_the_matrices_of_blocks_and_adamw_the_rest() -> None:
    model = nn.Sequential(nn.Linear(8, 8), Encoder(8, 2, 2, 16))
    muon, rest = optimizers_for("muon", model, 0.1, 0.5)
    assert isinstance(muon, Muon)
    taken = [p for optimizer in (muon, rest) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(map(id, taken)) == sorted(map(id, model.parameters()))
    assert [id(p) for p in muon.param_groups[0]["params"]] == [id(p) for p in block_matrices(model)]
    assert len(block_matrices(model)) == 8


def test_without_blocks_muon_is_adamw() -> None:
    assert len(optimizers_for("muon", nn.Linear(2, 2), 0.1, 0.0)) == 1


def test_muon_learns() -> None:
    torch.manual_seed(0)
    encoder, x, y = Encoder(8, 1, 2, 16), torch.randn(4, 3, 8), torch.randn(4, 3, 8)
    losses = []
    optimizers = optimizers_for("muon", encoder, 0.02, 0.0)
    for _ in range(40):
        loss = nn.functional.mse_loss(encoder(Tokens(x)).x, y)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_the_schedule_rises_stays_and_falls_to_nothing() -> None:
    factor = trapezoid(100, warmup=0.1, decay=0.3)
    assert [factor(step) for step in (0, 4, 9, 50, 69)] == pytest.approx([0.1, 0.5, 1.0, 1.0, 1.0])
    assert all(factor(step) > factor(step + 1) for step in range(70, 99))
    assert 0 < factor(99) < 0.05
    assert trapezoid(1)(0) == 1.0


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(ConfigError, match="optimizer='adam' is not one of adamw, muon"):
        optimizers_for("adam", nn.Linear(2, 2), 0.1, 0.0)
