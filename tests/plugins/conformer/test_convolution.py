"""The convolution module: against PyTorch's convolution, its padding, and what must not leak."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import conv1d, pad

from zoo.core import ConfigError, Lengths, Segments, Tokens, Valid
from zoo.plugins.conformer.convolution import ConvolutionModule, Depthwise, causal, is_full, same, spread
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm

pytestmark = pytest.mark.usefixtures("float64")


def test_an_even_kernel_reaches_one_frame_further_ahead() -> None:
    assert same(32) == (15, 16)
    assert same(31) == (15, 15)
    assert causal(31) == (30, 0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("length", [0, 1, 3, 40])
@pytest.mark.parametrize("kernel_size", [1, 4, 31, 32])
@pytest.mark.parametrize("padding", [same, causal])
def test_the_depthwise_convolution_is_that_of_torch(
    padding: Callable[[int], tuple[int, int]], kernel_size: int, length: int, bias: bool
) -> None:
    layer = Depthwise(5, kernel_size, padding(kernel_size), bias=bias)
    x = torch.randn(2, length, 5)
    y = layer(Tokens(x))
    assert y.shape == x.shape
    if length:
        expected = conv1d(pad(x.transpose(1, 2), padding(kernel_size)), layer.weight, layer.bias, groups=5)
        torch.testing.assert_close(y, expected.transpose(1, 2))


def test_its_weights_are_drawn_as_those_of_torch() -> None:
    drawn, torchs = Depthwise(500, 16), nn.Conv1d(500, 500, 16, groups=500)
    assert drawn.state_dict().keys() == torchs.state_dict().keys()
    for name, theirs in torchs.state_dict().items():
        ours = drawn.state_dict()[name]
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours.abs().max(), theirs.abs().max(), rtol=0.02, atol=0)
        torch.testing.assert_close(ours.std(), theirs.std(), rtol=0.1, atol=0)


@pytest.mark.parametrize("kernel_size", [4, 7])
def test_packed_sets_are_convolved_as_if_each_were_alone(kernel_size: int) -> None:
    layer = Depthwise(3, kernel_size)
    ids = torch.tensor([[3, 3, 3, 3, 3, 3, -1, -1], [7, 7, 7, 2, 2, 5, -1, 6], [-1, 4, 4, 4, 4, 4, 4, 9]])
    x = torch.randn(3, 8, 3).masked_fill((ids < 0)[..., None], float("nan"))
    y = layer(Tokens(x, keys=Segments(ids)))
    for row in range(3):
        for one in ids[row].unique().tolist():
            if one >= 0:
                where = ids[row] == one
                torch.testing.assert_close(y[row, where], layer(Tokens(x[row : row + 1, where]))[0])


@pytest.mark.parametrize("padding", [(1, 2), (3, 0), (0, 3)])
@pytest.mark.parametrize("ids", [[2, 2, 2, 0, 0, 0, 0, 5], [0] * 8])
def test_sets_that_fill_a_row_are_convolved_as_if_each_were_alone(padding: tuple[int, int], ids: list[int]) -> None:
    layer, keys, x = Depthwise(3, 4, padding), Segments(torch.tensor([ids])), torch.randn(1, 8, 3)
    assert is_full(keys)
    assert not is_full(Segments(torch.tensor([[*ids[:-1], -1]])))
    y = layer(Tokens(x, keys=keys))
    for one in set(ids):
        where = keys.ids[0] == one
        torch.testing.assert_close(y[:, where], layer(Tokens(x[:, where])))


def test_a_hole_in_a_packed_set_is_a_hole_in_a_set() -> None:
    layer, x = Depthwise(3, 5), torch.randn(1, 6, 3)
    packed = layer(Tokens(x, keys=Segments(torch.tensor([[0, -1, 0, -1, -1, 0]]))))
    valid = torch.tensor([[True, False, True, False, False, True]])
    torch.testing.assert_close(packed[valid], layer(Tokens(x, keys=Valid(valid)))[valid])


def test_rows_of_no_frames_stay_so_in_packed_sets_too() -> None:
    none = Tokens(torch.zeros(2, 0, 3), keys=Segments(torch.zeros(2, 0, dtype=torch.long)))
    assert Depthwise(3, 5)(none).shape == (2, 0, 3)


def test_sets_are_spread_by_the_gap_and_holes_part_none() -> None:
    ids = torch.tensor([[0, 0, -1, 0, 3, -1, -1, 8]])
    assert spread(ids, 10).tolist() == [[0, 1, 2, 3, 14, 15, 16, 27]]
    assert spread(torch.zeros(2, 0, dtype=torch.long), 10).shape == (2, 0)


@pytest.mark.parametrize("norm", [FrameBatchNorm, FrameLayerNorm, FrameGroupNorm])
@pytest.mark.parametrize("training", [True, False])
def test_padding_does_not_leak(norm: Callable[[int], nn.Module], training: bool) -> None:
    module = ConvolutionModule(8, 4, norm=norm).train(training)
    keys, x = Lengths(torch.tensor([9, 6])), torch.randn(2, 9, 8)
    y = module(Tokens(x, keys=keys))
    x[1, 6:] = float("nan")
    torch.testing.assert_close(module(Tokens(x, keys=keys))[1, :6], y[1, :6])


def test_a_causal_module_does_not_see_ahead() -> None:
    module = ConvolutionModule(8, 4, padding=causal(4)).eval()
    x = torch.randn(1, 9, 8)
    y = module(Tokens(x))
    x[:, 5:] = torch.randn(1, 4, 8)
    moved = module(Tokens(x))
    assert moved[:, :5].equal(y[:, :5])
    assert not moved[:, 5].allclose(y[:, 5])


@pytest.mark.parametrize("padding", [(3, 3), (-1, 4), (0, 0)])
def test_a_padding_that_does_not_fit_the_kernel_is_refused(padding: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=r"for kernel_size=4: left \+ right must be 3"):
        ConvolutionModule(8, 4, padding=padding)


def test_a_kernel_that_reads_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="kernel_size=0: a convolution reads at least one frame"):
        ConvolutionModule(8, 0)


def test_its_eps_is_that_of_its_first_norm() -> None:
    assert ConvolutionModule(8, 4, eps=1e-3).norm.eps == 1e-3
