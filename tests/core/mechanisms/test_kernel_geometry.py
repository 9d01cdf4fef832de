"""How a kernel goes over a grid: sizes and places as those of torch's convolutions."""

import pytest
import torch
from torch import nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.mechanisms.kernel_geometry import Sweep, square


def test_taps_stand_around_the_query_row_by_row() -> None:
    sweep = Sweep((3, 2), (1, 1, 0, 1))
    assert sweep.taps().tolist() == [[-1, 0], [-1, 1], [0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_there_are_as_many_queries_as_a_convolution_answers(kernel: int, dilation: int, stride: int) -> None:
    conv = nn.Conv2d(1, 1, (kernel, 2), stride=(stride, 1), dilation=(dilation, 1), padding=(kernel, 0), device="meta")
    queries, keys = Sweep.of(conv).places((7, 6), torch.device("cpu"))
    assert len(queries) == conv(torch.empty(1, 1, 7, 6, device="meta")).numel()
    assert len(keys) == (7 + 2 * kernel) * 6


def test_each_tap_of_each_query_is_a_key() -> None:
    sweep = Sweep((3, 2), (2, 0, 1, 1), stride=(2, 3), dilation=(1, 2))
    queries, keys = sweep.places((6, 7), torch.device("cpu"))
    reached = (queries[:, None] + sweep.taps()).flatten(0, 1)
    assert {tuple(place) for place in reached.tolist()} <= {tuple(place) for place in keys.tolist()}


@pytest.mark.parametrize("heads", [1, 4, 9, 16])
def test_a_square_kernel_keeps_the_size(heads: int) -> None:
    queries, _ = square(heads).places((4, 5), torch.device("cpu"))
    assert len(queries) == 20


@pytest.mark.parametrize("heads", [0, 2, 8])
def test_heads_that_make_no_square_are_refused(heads: int) -> None:
    with pytest.raises(ConfigError, match=f"num_heads={heads} is no square"):
        square(heads)


def test_a_kernel_larger_than_the_grid_is_refused() -> None:
    with pytest.raises(InputError, match="a grid of 2x5, padding included, is smaller than the kernel"):
        Sweep((3, 3), (0, 0, 0, 0)).places((2, 5), torch.device("cpu"))
