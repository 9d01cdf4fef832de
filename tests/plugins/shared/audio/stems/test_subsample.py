"""The way to 40 ms: counted exactly, the same as convolutions, and nothing leaks out of the padding."""

from typing import Any

import pytest
import torch
from torch.nn.functional import conv1d, gelu, pad

from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.lengths import halved, quartered
from zoo.plugins.shared.audio.stems.subsample import Subsample, Subsample2d

pytestmark = pytest.mark.usefixtures("float64")

KINDS = [Subsample, Subsample2d]


def made(kind: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return kind(16, 6, **options)


def features(b: int, n: int) -> torch.Tensor:
    return torch.randn(b, n, 16, generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [True, False])
def test_vectors_are_counted_exactly(kind: Any, ahead: bool) -> None:
    layer = made(kind, ahead=ahead)
    for n in range(1, 19):
        x, count = layer(features(1, n), torch.tensor([n]))
        assert x.shape == (1, quartered(n), 6)
        assert count.tolist() == [quartered(n)]


def test_halves_are_rounded_up() -> None:
    assert [halved(n) for n in range(6)] == [0, 1, 1, 2, 2, 3]
    assert quartered(torch.tensor([1, 4, 5, 8, 9])).tolist() == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [True, False])
def test_a_sound_in_a_batch_gives_the_same_vectors_as_alone(kind: Any, ahead: bool) -> None:
    layer = made(kind, ahead=ahead)
    lengths = torch.tensor([18, 17, 16, 15, 9, 2, 1])
    x = features(7, 18)
    for row, n in enumerate(lengths.tolist()):
        x[row, n:] = torch.nan
    y, count = layer(x, lengths)
    for row, n in enumerate(lengths.tolist()):
        alone, none = layer(x[row : row + 1, :n])
        assert none is None
        torch.testing.assert_close(y[row, : count[row]], alone[0])


def test_too_few_bands_are_refused() -> None:
    x, _ = Subsample2d(7, 6)(torch.randn(1, 9, 7))
    assert x.shape == (1, 3, 6)
    with pytest.raises(ConfigError, match="bands=6: two convolutions along the bands leave none of fewer than 7"):
        Subsample2d(6, 6)


def test_neighbours_in_one_product_are_a_convolution() -> None:
    layer = made(Subsample)
    x = features(2, 11)
    y = x.mT
    for part in (layer.first, layer.second):
        y = gelu(conv1d(pad(y, (1, 1)), part.weight.unflatten(1, (-1, 3)), part.bias, stride=2))
    torch.testing.assert_close(layer(x)[0], y.mT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ahead", "reach"), [(True, 3), (False, 0)])
def test_a_vector_looks_as_far_ahead_as_told(kind: Any, ahead: bool, reach: int) -> None:
    layer = made(kind, ahead=ahead)
    x = features(1, 24).requires_grad_()
    layer(x)[0][0, 3].sum().backward()
    assert x.grad is not None
    read = x.grad[0].abs().sum(1).nonzero()[:, 0]
    assert int(read.max()) <= 4 * 3 + reach
    assert int(read.max()) > 4 * 3 + reach - 3
