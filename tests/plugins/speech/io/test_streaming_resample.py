"""Sounds resampled while they come: as the whole, however they are cut, as soon as it can be, and little is kept."""

import pytest
import torch

from zoo.core.streaming.stages import Stream
from zoo.plugins.speech.io.preprocess import RATE, ratio_of, resampled
from zoo.plugins.speech.io.streaming_resample import Resampling

RATES = [8_000, 11_025, 22_050, 24_000, 44_100, 44_101, 48_000]


def streamed(stage: Stream, x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    parts = [stage.push(part) for part in x.split(sizes, dim=1)]
    return torch.cat([*parts, stage.push(x[:, :0], last=True)], dim=1)


def test_rates_that_are_as_good_as_16_kilohertz_are_taken_for_it() -> None:
    assert [ratio_of(rate) == 1 for rate in (15_992, 15_993, 16_000, 16_008, 16_009)] == [False, *[True] * 3, False]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("t", [1, 700, 5_003])
def test_chunks_are_resampled_as_the_whole(rate: int, t: int) -> None:
    x = torch.randn(1, t, generator=torch.Generator().manual_seed(t))
    whole = resampled(x[0], rate)
    for sizes in ([t], [1] * min(t, 40) + [t - min(t, 40)], [t // 3, 0, t - t // 3]):
        stage = Resampling(rate)
        torch.testing.assert_close(streamed(stage, x, sizes)[0], whole, atol=1e-5, rtol=0)
        assert stage.gives(t) == len(whole)


@pytest.mark.parametrize("rate", RATES)
def test_samples_are_given_when_what_they_read_has_come(rate: int) -> None:
    stage, given = Resampling(rate), 0
    for n in range(9, 3_000, 9):
        given += stage.push(torch.zeros(1, 9)).shape[1]
        assert given == stage.ready(n)
        assert n - given * rate / RATE <= stage.ahead + 9


def test_what_is_kept_does_not_grow() -> None:
    stage = Resampling(44_100)
    most = max(stage.stored for _ in range(200) if stage.push(torch.randn(1, 997)) is not None)
    assert 0 < most < 2 * stage.kernel.shape[2]
