"""The norms of features: of what is there only, and along a sound without what comes later."""

import pytest
import torch

from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.feature_norm import BEFORE, NORMS, SMALL, USUAL, by_utterance, norm_of, running

pytestmark = pytest.mark.usefixtures("float64")


def features(b: int = 2, n: int = 50) -> torch.Tensor:
    return 3 * torch.randn(b, n, 4, generator=torch.Generator().manual_seed(0)) - 8


def test_an_utterance_has_mean_0_and_variance_1() -> None:
    y = by_utterance(features(), None)
    torch.testing.assert_close(y.mean(1), torch.zeros(2, 4))
    torch.testing.assert_close(y.var(1, correction=0), torch.ones(2, 4), atol=1e-3, rtol=0)


@pytest.mark.parametrize("name", NORMS)
def test_padding_changes_no_norm_and_becomes_0(name: str) -> None:
    x = features()
    x[1, 30:] = torch.nan
    y = NORMS[name](x, torch.tensor([50, 30]))
    torch.testing.assert_close(y[1, :30], NORMS[name](x[1:, :30], None)[0])
    torch.testing.assert_close(y[0], NORMS[name](x[:1], None)[0])
    assert not y[1, 30:].any()


def test_a_running_norm_reads_nothing_later() -> None:
    x = features(1)
    torch.testing.assert_close(running(x[:, :20], None), running(x, None)[:, :20])


def test_a_running_norm_is_that_of_the_frames_so_far() -> None:
    x = features(1).double()
    so_far = x[:, :20]
    variance = (so_far.var(1, correction=0) * 20 + BEFORE * USUAL) / (20 + BEFORE)
    expected = (x[:, 19] - so_far.mean(1)) / (variance + SMALL).sqrt()
    torch.testing.assert_close(running(x, None)[:, 19], expected)


@pytest.mark.parametrize("name", ["utterance", "running"])
def test_silence_becomes_0(name: str) -> None:
    y = NORMS[name](torch.full((2, 300, 4), -15.942385), torch.tensor([300, 77]))
    assert y.abs().max() < 1e-3


def test_an_unknown_norm_is_named() -> None:
    with pytest.raises(ConfigError, match="normalise='batch' is not one of utterance, running, none"):
        norm_of("batch")
