"""Matrices together are those one after another; the state is PyTorch's."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Muon

from zoo.training.optimization import muon as module
from zoo.training.optimization.muon import BatchedMuon, orthogonalized

SHAPES = ((6, 4), (4, 6), (6, 4), (5, 5), (4, 6), (6, 4))
OPTIONS: dict[str, Any] = {"lr": 0.1, "weight_decay": 0.2, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"}


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def train(optimizer: Muon, given: list[nn.Parameter], steps: int = 3, seed: int = 2) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for each in given:
            each.grad = torch.randn(each.shape, generator=generator)
        optimizer.step()


@pytest.mark.parametrize("options", [OPTIONS, OPTIONS | {"adjust_lr_fn": "original", "nesterov": False}])
@pytest.mark.parametrize("together", [1, 50, 2**18])
def test_weights_are_those_of_pytorch_s_up_to_bfloat16(
    options: dict[str, Any], together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOGETHER", together)
    one, other = parameters(), parameters()
    train(Muon(one, **options), one)
    train(BatchedMuon(other, **options), other)
    for x, y in zip(one, other, strict=True):
        torch.testing.assert_close(x, y, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("bfloat16", [True, False])
def test_in_the_same_precision_each_matrix_is_as_alone(bfloat16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fast_bfloat16", lambda: bfloat16)
    one, other = parameters(), parameters()
    train(BatchedMuon(other, **OPTIONS), other)
    monkeypatch.setattr(module, "TOGETHER", 1)
    train(BatchedMuon(one, **OPTIONS), one)
    for x, y in zip(one, other, strict=True):
        torch.testing.assert_close(x, y, atol=0.01 if bfloat16 else 1e-5, rtol=0)


def test_singular_values_go_through_the_polynomial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fast_bfloat16", lambda: False)
    matrices = torch.randn(3, 5, 4, dtype=torch.float64)
    u, s, v = torch.linalg.svd(matrices, full_matrices=False)
    values = s / s.norm(dim=1, keepdim=True)
    a, b, c = 3.4445, -4.775, 2.0315
    for _ in range(2):
        values = a * values + b * values**3 + c * values**5
    expected: Tensor = (u * values[:, None]) @ v
    for given, wanted in ((matrices, expected), (matrices.mT, expected.mT)):
        torch.testing.assert_close(orthogonalized(given, (a, b, c), 2, 1e-7), wanted)


def test_a_state_of_pytorch_s_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fast_bfloat16", lambda: False)
    given = parameters()
    before = Muon(given, **OPTIONS)
    train(before, given)
    other = copy.deepcopy(given)
    after = BatchedMuon(other, **OPTIONS)
    after.load_state_dict(copy.deepcopy(before.state_dict()))  # else the two share the momenta
    assert after.state_dict()["param_groups"] == before.state_dict()["param_groups"]
    train(before, given, seed=3)
    train(after, other, seed=3)
    for x, y in zip(given, other, strict=True):
        torch.testing.assert_close(x, y, atol=0.02, rtol=0.02)


def test_parameters_without_gradients_stay_and_a_closure_s_loss_is_given() -> None:
    first, second = parameters()[:2]
    optimizer = BatchedMuon([first, second], **OPTIONS)
    kept = second.detach().clone()

    def closure() -> float:
        loss = first.square().sum()
        loss.backward()
        return loss.item()

    assert optimizer.step(closure) == pytest.approx(parameters()[0].square().sum().item())
    assert torch.equal(second, kept)
    assert not torch.equal(first, parameters()[0])


KERNELS = ((6, 4, 3, 3), (4, 6, 5), (6, 36), (6, 4, 3, 3), (8, 2, 2, 2))


@pytest.mark.parametrize("channels_last", [True, False])
def test_kernels_are_trained_as_by_timm(channels_last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Muon flattens kernels too, and takes the same polynomial as `original`."""
    peer = pytest.importorskip("timm.optim.muon")
    monkeypatch.setattr(module, "fast_bfloat16", lambda: True)
    one, other = ([nn.Parameter(torch.randn(shape)) for shape in KERNELS] for _ in range(2))
    for x, y in zip(one, other, strict=True):
        form = torch.channels_last if channels_last and x.ndim == 4 else torch.preserve_format
        y.data = x.detach().clone(memory_format=form)
    options = {**OPTIONS, "momentum": 0.9, "nesterov": True}
    train(peer.Muon(one, **options, ns_coefficients="original", conv_mode="flatten"), one)
    optimizer = BatchedMuon(other, **options)
    train(optimizer, other)
    for x, y in zip(one, other, strict=True):
        torch.testing.assert_close(x.detach(), y.detach(), atol=0.02, rtol=0.02)
    assert [state["momentum_buffer"].shape for state in optimizer.state.values()] == [p.shape for p in other]


def test_a_kernel_and_its_matrix_take_the_same_step_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fast_bfloat16", lambda: False)
    products: list[torch.Size] = []

    def counted(matrices: Tensor, *args: Any) -> Tensor:
        products.append(matrices.shape)
        return orthogonalized(matrices, *args)

    monkeypatch.setattr(module, "orthogonalized", counted)
    kernel = nn.Parameter(torch.randn(6, 4, 3, 3, dtype=torch.float64))
    matrix = nn.Parameter(kernel.detach().flatten(1).clone())
    kernel.grad = torch.randn_like(kernel)
    matrix.grad = kernel.grad.flatten(1)
    BatchedMuon([kernel, matrix], **OPTIONS).step()
    assert products == [(2, 6, 36)]
    torch.testing.assert_close(kernel.flatten(1), matrix)


def test_options_that_pytorch_s_refuses_are_refused() -> None:
    with pytest.raises(ValueError, match="Learning rate should be >= 0"):
        BatchedMuon(parameters(), lr=-1.0)
