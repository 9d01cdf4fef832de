"""Optimisers and schedules by name."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import Muon

import zoo
from zoo import ConfigError
from zoo.core import Attention, Decoder, Encoder, Tokens
from zoo.core.layers.transformer import Stack
from zoo.training.optimization.optimizers import (
    block_matrices,
    hidden_weights,
    noam,
    noam_peak,
    optimizers_for,
    schedule_for,
    trapezoid,
)


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


def test_blocks_of_any_kind_and_those_of_decoders_are_blocks() -> None:
    stack, decoder = Stack([nn.Linear(8, 8)]), Decoder(8, 1, 2, 16, cross=Attention)
    inside = [part.weight for part in (*stack.modules(), *decoder.modules()) if isinstance(part, nn.Linear)]
    assert {id(p) for p in block_matrices(nn.Sequential(stack, decoder))} == {id(p) for p in inside}


def test_without_blocks_muon_is_adamw() -> None:
    assert len(optimizers_for("muon", nn.Linear(2, 2), 0.1, 0.0)) == 1


class Convolutions(nn.Module):
    """A network of every layer that `hidden_weights` has to tell apart."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.first = nn.Conv1d(4, 6, 3)
        self.depthwise = nn.Conv1d(6, 6, 3, groups=6)
        self.grouped = nn.ConvTranspose1d(6, 8, 3, groups=2)
        self.norm = nn.LayerNorm(8)
        self.inner, self.table = nn.Linear(8, 8), nn.Parameter(torch.zeros(4, 4))
        self.classifier = nn.Linear(8, 3)


def test_hidden_weights_are_matrices_and_kernels_between_embeddings_and_the_classifier() -> None:
    model = Convolutions()
    wanted = [model.inner.weight, model.first.weight, model.grouped.weight]
    assert list(map(id, hidden_weights(model))) == list(map(id, wanted))
    muon, rest = optimizers_for("muon-hidden", model, 0.1, 0.5)
    taken = [p for optimizer in (muon, rest) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(map(id, taken)) == sorted(map(id, model.parameters()))
    assert list(map(id, muon.param_groups[0]["params"])) == list(map(id, wanted))


@pytest.mark.parametrize(
    ("name", "kernels", "adamw"),
    [
        ("vit-micro", 0, {"stem.project.weight", "stem.position.table", "head.linear.weight"}),
        ("resnet-micro", 7, {"net.fc.weight"}),
        ("resnet-micro-fine", 9, {"net.fc.weight"}),
        ("hybrid-micro", 4, {"stem.patches.project.weight", "stem.patches.position.table", "head.linear.weight"}),
    ],
)
def test_what_the_contestants_leave_to_adamw(name: str, kernels: int, adamw: set[str]) -> None:
    model = zoo.create(name)
    hidden = hidden_weights(model)
    assert sum(weight.ndim == 4 for weight in hidden) == kernels
    inside = set(map(id, hidden))
    assert {key for key, p in model.named_parameters() if p.ndim > 1 and id(p) not in inside} == adamw


def test_depthwise_kernels_of_a_conformer_are_left_to_adamw() -> None:
    model = zoo.create("conformer-vision-micro")
    assert list(map(id, hidden_weights(model))) == list(map(id, block_matrices(model)))


def test_layers_of_pyg_are_layers() -> None:
    gcn = pytest.importorskip("torch_geometric.nn").GCN(4, 8, num_layers=3, out_channels=2)
    assert [tuple(weight.shape) for weight in hidden_weights(gcn)] == [(8, 4), (8, 8)]


def test_frozen_weights_are_left_alone_and_nothing_but_kernels_needs_no_adamw() -> None:
    model = nn.Sequential(nn.Conv1d(4, 6, 3, bias=False), nn.Conv1d(6, 6, 3, bias=False))
    (muon,) = optimizers_for("muon-hidden", model, 0.1, 0.0)
    assert len(muon.param_groups[0]["params"]) == 2
    model[0].weight.requires_grad_(False)
    assert len(hidden_weights(model)) == 1


@pytest.mark.parametrize("name", ["muon", "muon-hidden"])
def test_muon_learns(name: str) -> None:
    torch.manual_seed(0)
    encoder, x, y = Encoder(8, 1, 2, 16), torch.randn(4, 3, 8), torch.randn(4, 3, 8)
    losses = []
    optimizers = optimizers_for(name, encoder, 0.02, 0.0)
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


def test_noam_times_its_peak_is_the_rate_of_the_paper() -> None:
    factor, peak = noam(4000), noam_peak(512, 4000)
    for step in (1, 100, 4000, 4001, 100_000):
        assert peak * factor(step - 1) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))
    assert factor(3999) == 1.0


def test_a_cosine_rises_to_its_peak_and_falls_to_nothing() -> None:
    factor = schedule_for("cosine", 110, 10)
    assert [factor(step) for step in (0, 4, 9, 59, 109)] == pytest.approx([0.1, 0.5, 1.0, 0.5, 0.0])


def test_a_constant_rate_stays_after_its_warm_up() -> None:
    factor = schedule_for("constant", 100, 10)
    assert [factor(step) for step in (0, 9, 10, 99)] == pytest.approx([0.1, 1.0, 1.0, 1.0])


def test_a_trapezoid_by_name_rises_in_the_steps_that_were_given() -> None:
    assert schedule_for("trapezoid", 50, 5)(4) == 1.0
    assert schedule_for("trapezoid", 50, 5)(3) == pytest.approx(0.8)


@pytest.mark.parametrize("warmup", [0, 11])
def test_a_warm_up_outside_the_training_is_refused(warmup: int) -> None:
    with pytest.raises(ConfigError, match=f"warmup={warmup}: between 1 step and all 10"):
        schedule_for("cosine", 10, warmup)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"schedule='cosin' is not one of .* Did you mean 'cosine'"):
        schedule_for("cosin", 10, 1)


def test_adam_is_set_as_in_the_paper() -> None:
    (optimizer,) = optimizers_for("adam", nn.Linear(2, 2), 0.1, 0.5)
    assert type(optimizer) is torch.optim.Adam
    (group,) = optimizer.param_groups
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"optimizer='adamm' is not one of adam, adamw, muon, muon-h.* Did you mean"):
        optimizers_for("adamm", nn.Linear(2, 2), 0.1, 0.0)


def test_one_cycle_is_that_of_pytorch() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], 1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=40, pct_start=0.3, cycle_momentum=False)
    ours = schedule_for("one-cycle", 40, 12)
    for step in range(40):
        assert ours(step) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-6)
        optimizer.step()
        if step < 39:
            theirs.step()


def test_a_linear_rate_rises_and_falls_in_straight_lines() -> None:
    factors = [schedule_for("linear", 20, 4)(step) for step in range(20)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4:] == pytest.approx([(20 - step) / 16 for step in range(4, 20)])


def test_sgd_is_that_of_pytorch_with_momentum_and_decay_of_matrices() -> None:
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    theirs.load_state_dict(ours.state_dict())
    (optimizer,) = optimizers_for("sgd", ours, 0.1, 0.01)
    groups: list[Any] = [{"params": [theirs.weight], "weight_decay": 0.01}, {"params": [theirs.bias]}]
    other = torch.optim.SGD(groups, 0.1, momentum=0.9, nesterov=True)
    for _ in range(3):
        for layer, stepper in ((ours, optimizer), (theirs, other)):
            stepper.zero_grad()
            layer(torch.ones(3)).square().sum().backward()
            stepper.step()
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)
