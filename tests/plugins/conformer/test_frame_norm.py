"""Norms inside the convolution module: against PyTorch's on the frames that are there."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from zoo.core import InputError, Lengths, Segments, Valid
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm

pytestmark = pytest.mark.usefixtures("float64")

LENGTHS = Lengths(torch.tensor([7, 0, 3]))
VALID = LENGTHS.valid(3, 7, torch.device("cpu"))


def padded(seed: int = 0) -> Tensor:
    x = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(seed))
    return x.masked_fill(~VALID[..., None], float("nan")).requires_grad_()


def randomised(*norms: nn.Module) -> None:
    """Give affine norms the same weights, away from 1 and 0."""
    for norm in norms:
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in norm.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_in_training_is_that_of_the_frames_one_behind_the_other(momentum: float | None) -> None:
    ours, theirs = FrameBatchNorm(6, momentum=momentum), nn.BatchNorm1d(6, momentum=momentum)
    randomised(ours, theirs)
    for seed in range(3):
        x = padded(seed)
        y, expected = ours(x, LENGTHS), theirs(x[VALID])
        torch.testing.assert_close(y[VALID], expected)
        assert y[~VALID].eq(0).all()
    (grad,) = torch.autograd.grad(y[VALID].square().sum(), x)
    (theirs_grad,) = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(grad, theirs_grad)
    for name, buffer in theirs.named_buffers():
        torch.testing.assert_close(ours.get_buffer(name), buffer)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_without_padding_is_that_of_torch(training: bool) -> None:
    ours, theirs = FrameBatchNorm(6).train(training), nn.BatchNorm1d(6).train(training)
    theirs.running_mean, theirs.running_var = torch.randn(6), torch.rand(6) + 0.5
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, 7, 6)
    torch.testing.assert_close(ours(x), theirs(x.transpose(1, 2)).transpose(1, 2))


def test_batch_norm_in_evaluation_is_a_scale_and_a_shift() -> None:
    norm = FrameBatchNorm(4)
    norm.load_state_dict(
        norm.state_dict() | {name: torch.rand(4) + 0.5 for name in ("weight", "bias", "running_mean", "running_var")}
    )
    x = torch.randn(2, 5, 4)
    scale, shift = norm.factors()
    assert torch.allclose(x * scale + shift, norm.eval()(x))


def test_batch_norm_in_evaluation_treats_each_frame_alone() -> None:
    norm = FrameBatchNorm(6).eval()
    norm.running_mean = torch.randn(6)
    x = torch.randn(3, 7, 6)
    assert norm(x, LENGTHS)[VALID].equal(norm(x)[VALID])


@pytest.mark.parametrize("length", [0, 1])
def test_batch_norm_in_training_refuses_frames_that_have_no_variance(length: int) -> None:
    norm = FrameBatchNorm(6)
    with pytest.raises(InputError, match=f"of {length} frames in 1 rows of 4: it needs two or more"):
        norm(torch.randn(1, 4, 6), Lengths(torch.tensor([length])))
    assert norm.get_buffer("running_mean").eq(0).all()


def test_layer_norm_is_that_of_torch() -> None:
    ours, theirs = FrameLayerNorm(6), nn.LayerNorm(6)
    randomised(ours, theirs)
    x = padded()
    assert ours(x, LENGTHS)[VALID].equal(theirs(x)[VALID])


@pytest.mark.parametrize("groups", [1, 3])
def test_group_norm_is_that_of_each_row_without_its_padding(groups: int) -> None:
    ours, theirs = FrameGroupNorm(6, groups), nn.GroupNorm(groups, 6)
    randomised(ours, theirs)
    x = padded()
    y = ours(x, LENGTHS)
    for row, length in enumerate(LENGTHS.t.tolist()):
        if length:
            alone = theirs(x[row : row + 1, :length].transpose(1, 2)).transpose(1, 2)
            torch.testing.assert_close(y[row, :length], alone[0])
            torch.testing.assert_close(ours(x[row : row + 1, :length])[0], alone[0])
    assert y.isfinite().all()
    (grad,) = torch.autograd.grad(y.square().sum(), x)
    assert grad.isfinite().all()
    assert grad[~VALID].eq(0).all()


def test_group_norm_is_as_exact_in_half_precision_with_lengths_as_without() -> None:
    ours = FrameGroupNorm(6, 2).bfloat16()
    randomised(ours)
    x = (10 + torch.randn(1, 400, 6)).bfloat16()
    exact = deepcopy(ours).float()(x.float())
    for y in (ours(x, Lengths(torch.tensor([400]))), ours(x)):
        assert y.dtype is torch.bfloat16
        torch.testing.assert_close(y, exact.bfloat16())


def test_group_norm_takes_holes_for_padding() -> None:
    x, valid = torch.randn(1, 5, 6), torch.tensor([[True, False, True, True, False]])
    y = FrameGroupNorm(6)(x, Valid(valid))
    torch.testing.assert_close(y[valid][None], FrameGroupNorm(6)(x[:, valid[0]]))


def test_group_norm_refuses_packed_sets() -> None:
    with pytest.raises(InputError, match="packed sets would mix"):
        FrameGroupNorm(6)(torch.randn(1, 4, 6), Segments(torch.tensor([[0, 0, 1, 1]])))
